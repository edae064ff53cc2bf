"""The words of the template texts, with what each typically does: a pronoun's continuation depends on it.

Lines of beings read `noun / what it does / what it does / ...`, each deed a whole predicate in the past tense.
"""

# The sentence of the article that the app opens with. Each of its words is one token, and no training text holds it.
ARTICLE = (
    "A robot must obey the orders given it by human beings except where such orders would conflict with the First Law"
)


def word_list(text: str) -> list[str]:
    """The words of a text, in order."""
    return text.split()


MALE = word_list("""
Tom John Ben Jack Sam Max Peter Paul Mark David James Robert William Richard Charles Joseph Thomas Daniel
Matthew Anthony Steven Andrew Kevin Brian George Edward Ronald Timothy Jason Jeffrey Ryan Jacob Gary Nicholas
Eric Jonathan Stephen Larry Justin Scott Brandon Benjamin Samuel Gregory Frank Alexander Raymond Patrick Dennis
Jerry Tyler Aaron Adam Henry Nathan Douglas Kyle Walter Ethan Jeremy Harold Keith Roger Noah Gerald Carl Terry
Sean Austin Arthur Lawrence Dylan Bryan Joe Billy Bruce Albert Willie Gabriel Logan Alan Juan Wayne Roy Ralph
Randy Eugene Vincent Russell Louis Philip Bobby Johnny Bradley Simon Oscar Luke Leo Hugo Felix Oliver Victor
Martin Isaac Ivan Ali Omar Hassan Ahmed Carlos Diego Pedro Miguel Luis Antonio Marco Lucas Finn Owen Liam Evan
Ian Neil Graham Stuart Duncan Malcolm Leonard Stanley Howard Fred Harry Charlie Danny Jimmy Tommy Eddie Mike
Steve Dave Bob Bill Jim Tim Dan Nick Greg Chris Matt Josh Ron Ken Ted Toby Theo
""")

FEMALE = word_list("""
Mary Anna Lily Lucy Emma Sara Sarah Jane Kate Alice Susan Linda Barbara Elizabeth Jennifer Maria Margaret Lisa
Nancy Karen Betty Helen Sandra Donna Carol Ruth Sharon Michelle Laura Kimberly Deborah Jessica Shirley Cynthia
Angela Melissa Brenda Amy Rebecca Kathleen Pamela Martha Amanda Stephanie Carolyn Christine Marie Janet
Catherine Frances Ann Joyce Diane Julie Heather Teresa Gloria Katherine Joan Ashley Judith Rose Nicole Judy
Christina Kathy Theresa Denise Tammy Rachel Marilyn Andrea Kathryn Louise Bonnie Julia Ruby Tina Paula Diana
Annie Emily Peggy Rita Tiffany Carmen Cindy Grace Wendy Victoria Sylvia Sheila Ellen Elaine Claire Charlotte
Sophie Sophia Olivia Hannah Chloe Mia Zoe Eva Clara Nora Molly Daisy Ivy Holly Hazel Maya Nina Lena Ada Vera
Iris Anne Beth Megan Fiona Heidi Isabel Elena Monica Veronica Natalie Caroline
""")

# Roles with their deeds; either gender can have them.
ROLES = """
baker / baked bread / made a cake / took the bread out of the oven
singer / sang a song / sang all night / began to sing
painter / painted a picture / mixed the colours / held a brush
farmer / fed the cows / planted the corn / drove the tractor
teacher / taught the class / opened the school / wrote on the board
dancer / danced all night / began to dance / danced on the stage
writer / wrote a book / wrote a story / began to write
driver / drove the bus / started the engine / drove home
cook / cooked dinner / made some soup / stirred the pot
doctor / treated the patients / looked at the wound / wrote down the medicine
nurse / cared for the patients / brought the medicine / changed the bandage
pilot / flew the plane / landed the plane / flew over the sea
soldier / marched away / carried a gun / stood guard
sailor / sailed the ship / raised the sail / went to sea
judge / judged the case / read the law / closed the court
lawyer / won the case / spoke in court / read the papers
student / studied all night / passed the exam / opened a textbook
gardener / watered the flowers / cut the grass / planted roses
hunter / hunted deer / followed the tracks / loaded the rifle
fisher / caught a fish / mended the nets / cast a line
guard / guarded the gate / locked the prison / watched the door
thief / stole the gold / hid from the police / broke into the bank
builder / built a house / laid the bricks / built a wall
swimmer / swam across the lake / dived into the pool / swam fast
runner / ran a race / ran very fast / won the race
scientist / did an experiment / made a discovery / studied the stars
priest / prayed in church / read the Bible / blessed the people
reporter / wrote the news / asked questions / called the newspaper
banker / counted the money / opened the bank / lent some money
barber / cut some hair / picked up the scissors / swept up the hair
waiter / served the food / brought the menu / cleared the table
tailor / sewed a coat / threaded the needle / measured the cloth
carpenter / built a table / cut the wood / picked up the hammer
photographer / took a photograph / held the camera / took some pictures
musician / played the piano / tuned the guitar / played some music
detective / solved the crime / found a clue / followed the suspect
firefighter / put out the fire / climbed the ladder / saved the child
librarian / put the books away / found the book / stamped the books
astronaut / flew to the moon / walked in space / looked at the earth
actor / acted in a play / learned the lines / went on stage
miner / dug for coal / went down the mine / dug deep
shepherd / counted the sheep / led the flock / watched the sheep
butcher / cut the meat / sold some meat / sharpened the knife
dentist / pulled a tooth / looked at the teeth / cleaned the teeth
engineer / designed a bridge / drew the plans / fixed the machine
mechanic / repaired the car / changed the tyre / checked the oil
clerk / filed the papers / answered the letters / typed a letter
poet / wrote a poem / read a poem / found a rhyme
"""

# Things that a hand can carry or give, other things, and animals; each is `it`.
PORTABLE = """
ball / rolled away / bounced twice / bounced high
coin / shone in the sun / rolled under the bed / was made of gold
bicycle / had a flat tyre / leaned on the wall / had two wheels
kite / flew high in the wind / got stuck in a tree / had a long tail
balloon / floated up / burst with a bang / was full of air
cup / was full of tea / broke on the floor / had a broken handle
glass / fell and broke / was full of water / was empty
plate / broke in two / was covered with food / was clean
bottle / was full of milk / was made of glass / was empty
mirror / hung on the wall / cracked / showed a face
clock / ticked loudly / struck twelve / showed the time
watch / showed the time / stopped ticking / was always right
bell / rang loudly / rang twice / began to ring
phone / rang twice / would not stop ringing / had no signal
radio / played some music / played a song / was too loud
drum / made a loud noise / sounded like thunder / was beaten twice
guitar / had six strings / sounded sweet / was out of tune
lamp / gave a little light / went out / shone on the table
candle / burned slowly / went out / gave a little light
flower / smelled sweet / opened in the sun / grew in the garden
rose / smelled sweet / had sharp thorns / was red
cake / tasted sweet / was covered with sugar / smelled good
bread / smelled good / was still warm / was fresh
apple / tasted sweet / was red and round / fell from the tree
pie / smelled good / was still hot / was full of apples
soup / was too hot / tasted good / smelled of onions
egg / cracked / broke in the pan / was white
cheese / smelled strong / was yellow / had holes in it
hat / blew away / was too big / kept the sun off
coat / kept out the cold / was made of wool / had big pockets
shirt / was dirty / needed a wash / had five buttons
dress / was made of silk / was too long / was beautiful
ring / was made of gold / did not fit / shone like the sun
box / was full of toys / had a lid / was too heavy
bag / was full of clothes / had a hole in it / was heavy
basket / was full of fruit / had a handle / was full of eggs
book / had many pages / was about a king / told an old story
letter / was from a friend / told the news / had no stamp
map / showed the way / showed the river / was very old
newspaper / told the news / was a day old / had many pages
picture / hung on the wall / showed a lake / was in a frame
knife / was very sharp / cut the bread / had a blunt blade
hammer / was heavy / hit the nail / had a wooden handle
key / opened the door / did not fit the lock / was made of iron
rope / was too short / was tied in a knot / broke
pen / was out of ink / wrote in blue / leaked
umbrella / kept off the rain / would not open / was wet
camera / took a picture / had no film / flashed
computer / stopped working / had a new screen / was very slow
robot / obeyed every order / worked all day / did not get tired
"""

FIXED = """
wheel / turned slowly / went round / rolled down the hill
car / would not start / drove away / ran out of petrol
truck / was full of sand / drove up the hill / carried wood
bus / stopped at the station / was full of people / was late
train / left the station / ran on time / whistled loudly
boat / floated on the water / began to sink / crossed the lake
ship / sailed away / sailed to an island / sank in the storm
plane / flew over the clouds / landed safely / took off
rocket / flew into space / went to the moon / took off with a roar
window / was open / was made of glass / let in the light
door / was locked / opened slowly / closed with a bang
gate / was locked / swung open / was made of iron
piano / had black and white keys / sounded beautiful / was out of tune
fire / burned brightly / went out / was hot
star / shone in the sky / shone all night / was far away
tree / grew tall / lost its leaves / fell in the storm
seed / grew into a tree / was very small / lay in the ground
chair / had a broken leg / was soft / stood by the table
table / had four legs / was made of wood / stood in the kitchen
bed / was soft / was not made / was too small
machine / made a loud noise / stopped working / worked all day
engine / made a loud noise / would not start / ran smoothly
bridge / crossed the river / was made of stone / fell down
house / had a red roof / was very old / had six rooms
river / ran to the sea / was deep / was full of fish
stone / was heavy / lay on the road / was hard
snow / melted / fell all night / was white and cold
ice / melted in the sun / was cold / cracked
storm / lasted all night / blew the roof off / came from the sea
song / was sad / was about love / had a lovely tune
story / was about a king / had a happy ending / was very long
law / was unjust / was passed last year / was very old
"""

ANIMALS = """
dog / barked loudly / barked at the door / wagged its tail
cat / purred / drank some milk / chased a mouse
bird / sang in the tree / flew away / sat on its nest
horse / galloped away / ate some hay / pulled the cart
cow / gave milk / ate the grass / had a calf
pig / rolled in the mud / grunted / ate everything
sheep / had thick wool / ate the grass / gave wool
goat / ate the cabbage / had two horns / climbed the rock
hen / laid an egg / sat on its eggs / scratched in the yard
duck / quacked / swam in the pond / had webbed feet
frog / jumped into the pond / croaked / hopped away
fish / swam away / lived in the sea / could not breathe
lion / roared / showed its teeth / shook its mane
tiger / growled / had black stripes / hid in the jungle
bear / growled / ate some honey / slept all winter
wolf / howled / showed its teeth / howled at the moon
fox / ran into its hole / stole a hen / was very clever
rabbit / hopped away / ate a carrot / had long ears
mouse / squeaked / ate the cheese / ran into its hole
rat / ran into the drain / gnawed the rope / ate the corn
snake / hissed / slid through the grass / bit its prey
bee / buzzed / made honey / flew from flower to flower
spider / spun a web / caught a fly / had eight legs
monkey / climbed a tree / ate a banana / swung from a branch
elephant / raised its trunk / was very big / had a long trunk
camel / crossed the desert / had a hump / drank for an hour
donkey / carried the bags / would not move / was very slow
owl / flew by night / hooted / had big eyes
eagle / flew over the mountain / spread its wings / built its nest on a rock
whale / dived deep / swam in the sea / was as big as a ship
turtle / hid in its shell / walked slowly / had a hard shell
parrot / learned to talk / repeated every word / had green wings
kitten / drank some milk / played with a string / purred
puppy / chewed the shoe / wagged its tail / wanted to play
dragon / breathed fire / guarded the gold / slept in a cave
"""

# Groups, each `they`.
GROUPS = """
soldiers / marched away / carried guns / fought bravely
farmers / fed the cows / planted the corn / drove to the market
sailors / sailed the ship / raised the sails / went to sea
students / studied all night / passed the exam / opened the textbooks
workers / built a bridge / went on strike / put down the tools
dancers / danced all night / danced on the stage / took a bow
singers / sang a song / sang together / sang in the choir
hunters / hunted deer / followed the tracks / loaded the rifles
children / played in the park / laughed and played / went to school
guards / guarded the gate / locked the prison / watched the walls
dogs / barked loudly / chased the cat / wagged their tails
cats / drank some milk / chased a mouse / purred
birds / flew away / sang in the trees / built a nest
horses / galloped away / ate some hay / pulled the cart
cows / gave milk / ate the grass / stood in the field
sheep / ate the grass / followed the shepherd / had thick wool
bees / buzzed / made honey / flew from flower to flower
wolves / howled at the moon / hunted in a pack / showed their teeth
ducks / swam in the pond / quacked / flew south
frogs / jumped into the pond / croaked / hopped away
robots / obeyed every order / worked all day / did not get tired
machines / stopped working / made a loud noise / worked all day
bells / rang loudly / rang all day / began to ring
candles / burned slowly / went out / gave a little light
books / stood on the shelf / were full of stories / had many pages
flowers / smelled sweet / opened in the sun / grew in the garden
boats / floated on the water / crossed the lake / came back to the harbour
ships / sailed away / came back to the harbour / sank in the storm
trains / ran on time / left the station / were all late
thieves / stole the gold / hid from the police / broke into the bank
doctors / treated the patients / looked at the wound / wrote down the medicine
nurses / cared for the patients / brought the medicine / worked all night
teachers / taught the class / opened the school / marked the tests
players / won the game / lost the match / kicked the ball
pilots / flew over the sea / landed the planes / trained for years
scientists / did an experiment / made a discovery / studied the stars
monkeys / climbed a tree / ate the bananas / swung from the branches
builders / built a house / laid the bricks / built a wall
"""

# All of them go with "in the" and "to the".
PLACES = word_list("""
shop park school garden kitchen forest market church hospital library village town city castle field street
office theatre museum zoo harbour valley restaurant hotel factory bank house barn hall palace tower cave desert
square bakery prison cellar attic yard classroom stable mill tent hut camp jungle basement
""")
ADJECTIVES = word_list("""
red blue green yellow white black brown old new big small little heavy light long short round clean dirty broken
beautiful strange shiny soft hard warm cold wet dry cheap expensive wooden golden silver pink purple grey
""")
LOOKS = word_list("""
red blue green yellow white black brown old new big small little heavy light round beautiful strange shiny
golden silver pink purple grey
""")
TRAITS = word_list("""
brave kind clever quiet honest shy proud strong gentle careful lazy rich poor young old tall happy sad angry
tired polite funny patient famous lonely strange wise calm cheerful hungry
""")
FOODS = word_list("""
apples bread milk cheese eggs butter sugar rice fish meat tea coffee cake soup beans corn onions potatoes
carrots tomatoes oranges bananas lemons grapes honey salt flour nuts juice water
""")
COLOURS = word_list("red blue green yellow white black brown pink purple orange grey silver")
NUMBERS = word_list("one two three four five six seven eight nine ten eleven twelve")

# The world of laws and orders: whoever may command, and what is commanded.
# fmt: off
MASTERS = [
    "human beings", "people", "men", "women", "officers", "masters", "judges", "teachers", "parents", "users", "owners",
    "engineers", "scientists", "kings", "leaders", "doctors", "soldiers", "humans",
]
# fmt: on
COMMANDS = word_list("orders commands instructions rules laws directions warnings tasks")
ORDINALS = word_list("First Second Third Fourth Fifth")

# What fits into what, crosses what, carries what, breaks what.
LOADS = word_list("trophy statue lamp chair book guitar box stone basket picture clock coat table mirror toy bottle")
VESSELS = word_list("suitcase box bag drawer car basket boat room truck chest garage pocket")
ANIMALS_ON_FOOT = word_list("animal dog cat horse cow sheep goat fox bear donkey elephant lion turtle camel wolf")
WAYS = word_list("street road river bridge field desert path lake forest square garden mountain")
CARRIERS = word_list("truck horse donkey boat car bus train camel elephant robot ship plane")
HARD = word_list("ball hammer stone axe statue box wheel bell key pan")
BREAKABLE = word_list("window table chair plate door roof bridge wall mirror cup")
