/** Charts of fenced ```chart blocks: {"type": "bar", "data": {"labels": […], "datasets": [{"label", "data"}]}, "title"?}. */
import { BarController, BarElement, CategoryScale, Chart, DoughnutController, Legend, LineController, LineElement, LinearScale, PieController, PointElement, ArcElement, Title, Tooltip, type ChartConfiguration } from "chart.js";
import { h } from "./dom";

Chart.register(BarController, BarElement, CategoryScale, DoughnutController, Legend, LineController, LineElement, LinearScale, PieController, PointElement, ArcElement, Title, Tooltip);

const POINTS_MAX = 2000;
const SETS_MAX = 12;
const COLOURS = ["blue", "orange", "green", "purple", "red", "yellow"]; // --vscode-charts-*
const TYPES = new Set(["bar", "line", "pie", "doughnut"]);

interface Source {
  type: "bar" | "line" | "pie" | "doughnut";
  title: string;
  labels: string[];
  datasets: { label: string; data: number[] }[];
}

/** What a block says, checked: numbers and words only, nothing that the library would take as code. Undefined where it is no chart. */
export function parse(source: string): Source | undefined {
  try {
    const raw = JSON.parse(source) as { type?: unknown; title?: unknown; data?: { labels?: unknown[]; datasets?: { label?: unknown; data?: unknown[] }[] } };
    const type = typeof raw.type === "string" && TYPES.has(raw.type) ? (raw.type as Source["type"]) : undefined;
    const sets = raw.data?.datasets;
    if (!type || !Array.isArray(sets) || !Array.isArray(raw.data?.labels)) {
      return undefined;
    }
    return {
      type,
      title: typeof raw.title === "string" ? raw.title : "",
      labels: raw.data.labels.slice(0, POINTS_MAX).map(String),
      datasets: sets.slice(0, SETS_MAX).map((s) => ({ label: String(s.label ?? ""), data: (Array.isArray(s.data) ? s.data : []).slice(0, POINTS_MAX).map(Number) })),
    };
  } catch {
    return undefined;
  }
}

function themeColour(name: string, instead: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--vscode-${name}`).trim() || instead;
}

function draw(figure: HTMLElement, source: string): void {
  const s = parse(source);
  if (!s) {
    figure.append(h("pre", {}, source)); // not a chart that we know: its words
    return;
  }
  const canvas = h("canvas", { role: "img", "aria-label": s.title || `${s.type} chart` });
  figure.append(h("div", { class: "canvas" }, canvas), table(s));
  const text = themeColour("foreground", "gray");
  const grid = themeColour("editorWidget-border", "rgba(128,128,128,.3)");
  const colours = COLOURS.map((c) => themeColour(`charts-${c}`, c));
  const round = s.type === "pie" || s.type === "doughnut";
  const config: ChartConfiguration = {
    type: s.type,
    data: {
      labels: s.labels,
      datasets: s.datasets.map((d, i) => ({
        ...d,
        backgroundColor: round ? d.data.map((_, j) => colours[j % colours.length]!) : colours[i % colours.length]!,
        borderColor: round ? "transparent" : colours[i % colours.length]!,
      })),
    },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      color: text,
      plugins: { title: { display: s.title !== "", text: s.title, color: text }, legend: { display: round || s.datasets.length > 1, labels: { color: text } } },
      ...(!round && { scales: { x: { ticks: { color: text }, grid: { color: grid } }, y: { beginAtZero: true, ticks: { color: text }, grid: { color: grid } } } }),
    },
  };
  new Chart(canvas, config);
}

/** The same numbers for who can't see the drawing. */
function table(s: Source): HTMLElement {
  return h("details", {}, h("summary", {}, "numbers"),
    h("table", {},
      h("thead", {}, h("tr", {}, h("th"), ...s.datasets.map((d) => h("th", { scope: "col" }, d.label)))),
      h("tbody", {}, ...s.labels.map((l, i) => h("tr", {}, h("th", { scope: "row" }, l), ...s.datasets.map((d) => h("td", { class: "to-right" }, String(d.data[i] ?? ""))))))));
}

window.agentLspCharts = { draw };
