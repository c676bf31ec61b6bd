/** Small line drawings in the manner of codicons, in the colour of the text beside them. Never the only sign of anything. */
const PATHS = {
  read: "M9.5 1.5h-6v13h9v-10zM9.5 1.5v3h3M5.5 8h5M5.5 11h5",
  write: "M10.5 2.5l3 3-8 8-3.5.5.5-3.5zM9 4l3 3",
  bash: "M1.5 2.5h13v11h-13zM4 6l2.5 2L4 10M8 10.5h4",
  other: "M8 1.8l5.5 3.1v6.2L8 14.2l-5.5-3.1V4.9zM2.5 4.9L8 8l5.5-3.1M8 8v6.2",
  send: "M2 2l12 6-12 6 2-6zM4 8h10",
  stop: "M3.5 3.5h9v9h-9z",
  pause: "M5 3v10M11 3v10",
  resume: "M4.5 2.5l8 5.5-8 5.5z",
  escalate: "M8 14V3M3.5 7.5L8 3l4.5 4.5",
  add: "M8 2.5v11M2.5 8h11",
  copy: "M5.5 5.5h8v8h-8zM5.5 10.5h-3v-8h8v3",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  chevron: "M3.5 6L8 10.5 12.5 6",
  context: "M8 1.8L14.2 8 8 14.2 1.8 8z",
} as const;

export type Icon = keyof typeof PATHS;

export function icon(name: Icon): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
