// A bracketed tree as a drawing.
import { drawn } from "./dom.js";

const GAP = 14, LEVEL = 44, LETTER = 8.2;

function parsed(text) {
  const pieces = text.match(/\(|\)|[^\s()]+/g) ?? [];
  let at = 0;
  const node = () => {
    if (pieces[at] !== "(") return { label: pieces[at++], children: [] };
    at++;
    const label = pieces[at] === "(" ? "" : pieces[at++], children = [];
    while (at < pieces.length && pieces[at] !== ")") children.push(node());
    at++;
    return { label, children };
  };
  return node();
}

export function tree(text) {
  const root = parsed(text), svg = drawn("svg", { class: "tree", role: "img", "aria-label": `tree ${text}` });
  let right = 0, bottom = 0;
  const place = (node, depth) => {
    const width = node.label.length * LETTER;
    bottom = Math.max(bottom, depth);
    if (!node.children.length) {
      node.x = right + width / 2;
      right += width + GAP;
    } else {
      for (const child of node.children) place(child, depth + 1);
      node.x = (node.children[0].x + node.children[node.children.length - 1].x) / 2;
      right = Math.max(right, node.x + width / 2 + GAP);
    }
    node.y = depth * LEVEL + 18;
  };
  const draw = (node) => {
    for (const child of node.children) {
      svg.append(drawn("line", { x1: node.x, y1: node.y + 5, x2: child.x, y2: child.y - 15, stroke: "var(--line)" }));
      draw(child);
    }
    const label = drawn("text", { x: node.x, y: node.y, "text-anchor": "middle" });
    label.textContent = node.label;
    svg.append(label);
  };
  place(root, 0);
  draw(root);
  svg.setAttribute("width", right);
  svg.setAttribute("height", bottom * LEVEL + 30);
  return svg;
}
