"""Texts that a renderer would show as something else than what was typed."""

STREAMLIT = [
    *("a -> b", "->", "<-", "a <-> b", "a -- b", "<= >= ~=", "-->", "<--", "a->b", "->->"),
    *(":material/home:", ":material_home:", "x:material/home:y", ":material/", ":streamlit:", ":smile:", ":+1:"),
    *(":-1:", "a:b:c:d", "::smile::", ":)", ";-)", "12:30:15"),
    *(":red[red]", ":red-background[x]", ":color[x]{foreground=red}", ":small[x]", ":help[x]", ":shimmer[x]"),
    *(":x", "::x", ":::x", "$x^2$", "$$x$$", r"\(x\)", r"\[x\]", r"\frac12", "$HOME"),
]
ADDRESSES = [
    *("http://example.org", "https://example.org/a?b=c#d", "HTTP://EXAMPLE.ORG", "www.example.org"),
    *("WWW.Example.org.", "me@example.org", "mailto:me@example.org", "xmpp:me@example.org/x"),
    *("<http://example.org>", "//example.org"),
]
MARKDOWN = [
    *("**bold** _it_ ~~gone~~ ~x~", "`code`", "``a`b``", "[x](http://example.org)", "![x](y.png)", "[[ ]]"),
    *("[^1]", "[x]: y", "# head", "1. one", "1) one", "- item", "* item", "+ item", "- [ ] todo", "> quote"),
    *("---", "***", "===", "    code", "\tcode", "```py", "| a | b |", "|--|--|", "a | b"),
    *("a\nb", "a\n\nb", "a\n===", "a  \nb", "a\\\nb"),
]
MARKUP = [
    *("<b>bold</b>", "<br>", "<!-- x -->", "<img src=x onerror=alert(1)>", "</p>", "<script>x</script>", "<3"),
    *("&amp;", "&lt;b&gt;", "&#65;", "&nbsp;", "a&b", "<![CDATA[x]]>"),
    *("%{x}", "%{y:.2f}", '<a href="x">x</a>', "<sup>2</sup>", "<extra></extra>"),
]
OTHERS = [
    *("\\", r"\*", "\\\\", "'", '"', "“”", "it's", "x = 1;", "a_b_c", "^", "#", "a#b", "50%"),
    *("橩 漢字", "👩‍👩‍👧", "e\u0301", "·robot", "⏎"),
]
TEXTS = [*STREAMLIT, *ADDRESSES, *MARKDOWN, *MARKUP, *OTHERS]
