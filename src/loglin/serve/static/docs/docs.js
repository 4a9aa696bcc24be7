// The paths of the service, read from its own description.

function made(name, text = "", ...inside) {
  const found = document.createElement(name);
  found.textContent = text;
  found.append(...inside);
  return found;
}

function kindOf(schema) {
  if (schema.anyOf) return schema.anyOf.map(kindOf).join(" or ");
  if (schema.type === "array" && schema.items) return `list of ${kindOf(schema.items)}`;
  const bounds = schema.minimum === undefined ? "" : ` from ${schema.minimum} to ${schema.maximum}`;
  return (schema.type ?? "anything") + bounds;
}

const told = (schema) => kindOf(schema) + (schema.description ? `: ${schema.description}` : "");

function table(title, rows) {
  const body = rows.map(([name, kind]) => made("tr", "", made("td", "", made("code", name)), made("td", kind)));
  return body.length ? [made("h3", title), made("table", "", ...body)] : [];
}

function section(path, method, about) {
  const content = about.requestBody?.content["application/json"]?.schema.properties ?? {};
  const query = (about.parameters ?? []).map((one) => [one.name, told(one.schema)]);
  const fields = Object.entries(content).map(([name, schema]) => [name, told(schema)]);
  const statuses = Object.entries(about.responses ?? {}).map(([status, one]) => [status, one.description ?? ""]);
  const heading = made("h2", "", made("code", `${method.toUpperCase()} ${path}`), ` ${about.summary ?? ""}`);
  return made(
    "section", "", heading, ...table("In the body", fields), ...table("In the query", query), ...table("Answers", statuses),
  );
}

const answer = await fetch("../openapi.json");
const description = await answer.json();
const sections = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, about]) => section(path, method, about)),
);
document.querySelector("#paths").replaceChildren(...sections);
