// Marks for a head grid elsewhere on the page. They travel apart from the thumbnails, which are a thousand times larger.

const shared = (globalThis.headlightHeadGrids ??= { marks: new Map(), redraw: new Map() });

/** Called by Streamlit with each new set of marks; those that it lacks stay as they were for the same revision. */
export default function ({ data: { grid, revision, marks } }) {
  const before = shared.marks.get(grid);
  shared.marks.set(grid, { ...(before?.revision === revision ? before : {}), ...marks, revision });
  shared.redraw.get(grid)?.();
}
