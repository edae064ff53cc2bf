const STILL = 6; // pixels: a hand is never quite still

/** Whether a click on the element is meant as one: once for each press, and not if it moved, as to scroll or select. */
function pressesOf(element) {
  let meant = false;
  element.addEventListener("pointerdown", (press) => {
    meant = true;
    const watch = new AbortController();
    const look = ({ type, clientX, clientY }) => {
      const far = Math.hypot(clientX - press.clientX, clientY - press.clientY);
      if (type === "pointercancel" || far > STILL) meant = false;
      if (type !== "pointermove") watch.abort();
    };
    // On the window: plotly lays a cover over the page while a button is down.
    for (const type of ["pointermove", "pointerup", "pointercancel"]) {
      window.addEventListener(type, look, { capture: true, signal: watch.signal });
    }
  });
  return { take: () => meant && !(meant = false) };
}

