// Elements from plain descriptions; text is always text, never HTML.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [property, v] of Object.entries(value)) made.style.setProperty(property, v);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const drawn = (name, attributes = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

export const byId = (id) => document.getElementById(id);

export const percent = (share) => (share >= 0.9995 ? "100 %" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`);

// Hues far apart for the first types, then in golden steps.
const HUES = [212, 28, 150, 330, 265, 55, 185, 0, 95, 300];
export const hue = (types, type) => {
  const place = types.indexOf(type);
  return place < 0 ? 0 : HUES[place] ?? Math.round((place * 137.5) % 360);
};

// A service that asks for a token gets it from the address of the page, behind #token=, which no server sees.
const token = () => new URLSearchParams(location.hash.slice(1)).get("token");

export async function ask(method, address, body) {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  if (token()) headers.authorization = `Bearer ${token()}`;
  const answer = await fetch(address, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const value = await answer.json().catch(() => ({ error: `the service answered with ${answer.status}` }));
  if (!answer.ok) {
    const said = typeof value.error === "string" ? value.error : value.detail ?? value.error?.message;
    throw Object.assign(new Error(said || `status ${answer.status}`), { status: answer.status });
  }
  return value;
}
