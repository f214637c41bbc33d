/** Renders /openapi.json. Everything is inserted as text, never as HTML. */

/** The base path of the server. Empty if it has none. */
const base = document.documentElement.dataset.base ?? "";

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Creates an element with attributes and children. Strings become text nodes. */
function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** Renders text with `…` as code. */
const prose = (text) => text.split("`").map((part, index) => (index % 2 === 1 ? el("code", {}, part) : part));

const pretty = (value) => el("pre", {}, JSON.stringify(value, null, 2));

let whole = null;

/** Resolves a reference. */
const resolve = (thing) =>
  thing?.$ref
    ? thing.$ref
        .slice(2)
        .split("/")
        .reduce((at, name) => at?.[name], whole)
    : thing;

/** Unions of more objects than this aren't expanded within a field. */
const MOST_SHOWN = 4;

/** Returns the objects of a union. */
const variantsOf = (schema) =>
  (schema.oneOf ?? schema.anyOf ?? [])
    .map(resolve)
    .flatMap((each) => (each.properties ? [each] : variantsOf(each)));

/** Returns a schema's type in one line. */
function typeOf(given) {
  const schema = resolve(given) ?? {};
  const titles = variantsOf(schema).map(({ title }) => title);
  if (titles.length > MOST_SHOWN) return `one of: ${titles.join(", ")}`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map(typeOf))].join(" or ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const types = [schema.type ?? "any"].flat();
  const named = types.map((type) => (type === "array" ? `list of ${typeOf(schema.items ?? {})}` : type));
  return named.join(" or ") + (schema.format ? ` (${schema.format})` : "");
}

const LIMITS = [
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "minItems",
  "maxItems",
];

function limitsOf(schema) {
  const limits = LIMITS.filter((name) => schema[name] !== undefined).map((name) => `${name} ${schema[name]}`);
  if (schema.default !== undefined) limits.push(`default ${JSON.stringify(schema.default)}`);
  return limits.join(", ");
}

/** Returns the schema whose fields are shown: an object itself, or what a list or union contains. */
function inner(given) {
  const schema = resolve(given) ?? {};
  if (schema.items) return inner(schema.items);
  if (schema.allOf) return together(schema.allOf.map(inner));
  if (schema.properties) return schema;
  const variants = variantsOf(schema);
  return variants.length > 0 && variants.length <= MOST_SHOWN ? variants[0] : schema;
}

/** Merges the schemas of `allOf` into one. */
const together = (schemas) => ({
  type: "object",
  required: schemas.flatMap((schema) => schema.required ?? []),
  properties: Object.assign({}, ...schemas.map((schema) => schema.properties)),
});

/** Returns the fields of an object, one row each, with those of nested objects below. */
function fieldRows(given, before = "", depth = 0) {
  const { properties = {}, required = [] } = inner(given);
  if (depth > 4) return [];
  return Object.entries(properties).flatMap(([name, field]) => {
    const schema = resolve(field);
    const about = [schema.description ?? "", limitsOf(schema)].filter(Boolean).join(" · ");
    const row = el(
      "tr",
      {},
      el(
        "td",
        {},
        el("code", {}, before + name),
        required.includes(name) ? el("b", { title: "required" }, " *") : null,
      ),
      el("td", {}, typeOf(schema)),
      el("td", {}, prose(about)),
    );
    const list = [schema.type].flat().includes("array") ? "[]" : "";
    return [row, ...fieldRows(schema, `${before}${name}${list}.`, depth + 1)];
  });
}

function table(heads, rows) {
  if (rows.length === 0) return null;
  const head = el(
    "tr",
    {},
    heads.map((text) => el("th", {}, text)),
  );
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, rows)));
}

function parametersOf(operation) {
  const rows = (operation.parameters ?? [])
    .map(resolve)
    .map((each) =>
      el(
        "tr",
        {},
        el("td", {}, el("code", {}, each.name), each.required ? el("b", { title: "required" }, " *") : null),
        el("td", {}, each.in),
        el("td", {}, typeOf(each.schema)),
        el("td", {}, prose([each.description ?? "", limitsOf(each.schema)].filter(Boolean).join(" · "))),
      ),
    );
  const shown = table(["Parameter", "Location", "Type", "Description"], rows);
  return shown ? [el("h4", {}, "Parameters"), shown] : [];
}

const fieldTable = (schema) => table(["Field", "Type", "Description"], fieldRows(schema));

/** Returns the fields of a body. For a union, those of each variant, rendered when it is first opened. */
function fieldsOf(given) {
  const schema = resolve(given) ?? {};
  const variants = schema.properties ? [] : variantsOf(schema);
  if (variants.length <= 1) return [fieldTable(schema)];
  return variants.map((variant) => {
    const node = el("details", {}, el("summary", {}, variant.title ?? typeOf(variant)));
    node.addEventListener("toggle", () => node.append(fieldTable(variant) ?? ""), { once: true });
    return node;
  });
}

function bodyOf(content = {}) {
  return Object.entries(content).flatMap(([type, { schema = {}, example }]) => [
    el("p", { class: "type" }, el("code", {}, type)),
    ...fieldsOf(schema),
    example === undefined ? null : pretty(example),
  ]);
}

function responsesOf(operation) {
  return Object.entries(operation.responses).map(([status, given]) => {
    const reply = resolve(given);
    const kind = status < "300" ? "good" : "bad";
    const line = el(
      "summary",
      {},
      el("span", { class: `status ${kind}` }, status),
      " ",
      prose(reply.description),
    );
    return el("details", kind === "good" ? { open: "" } : {}, line, bodyOf(reply.content));
  });
}

/** Returns the request as a curl command. */
function curlOf(method, path, operation) {
  const parts = [`curl -X ${method.toUpperCase()} '${location.origin}${base}${path}'`];
  if (operation.security?.length > 0) parts.push(`-H "Authorization: Bearer $WEIR_TOKEN"`);
  const json = operation.requestBody?.content?.["application/json"];
  if (json) {
    parts.push("-H 'Content-Type: application/json'");
    parts.push(`-d '${JSON.stringify(json.example ?? {}).replaceAll("'", "'\\''")}'`);
  }
  return el("pre", {}, parts.join(" \\\n  "));
}

function contentsOf(method, path, operation) {
  const { requestBody } = operation;
  return [
    el("p", {}, prose(operation.description ?? "")),
    el(
      "p",
      { class: "facts" },
      "Role: ",
      el("b", {}, operation["x-role"]),
      ...(operation["x-scope"] ? [" · Scope: ", el("b", {}, operation["x-scope"])] : []),
      " · ",
      el("code", {}, operation.operationId),
    ),
    ...parametersOf(operation),
    ...(requestBody
      ? [el("h4", {}, requestBody.required ? "Body" : "Body (optional)"), ...bodyOf(requestBody.content)]
      : []),
    el("h4", {}, "Responses"),
    ...responsesOf(operation),
    el("h4", {}, "curl example"),
    curlOf(method, path, operation),
  ];
}

/** Renders one operation. Its content is rendered when it is first opened. */
function card(method, path, operation) {
  const words = `${method} ${path} ${operation.summary} ${operation["x-role"]} ${operation.operationId} ${operation.tags}`;
  const node = el(
    "details",
    { class: "operation", id: operation.operationId, "data-words": words.toLowerCase() },
    el(
      "summary",
      {},
      el("span", { class: `method ${method}` }, method.toUpperCase()),
      el("code", {}, path),
      el("span", { class: "gist" }, operation.summary),
      el("span", { class: "role" }, operation["x-role"]),
    ),
  );
  const fill = () => node.append(el("div", { class: "inside" }, contentsOf(method, path, operation)));
  node.addEventListener("toggle", fill, { once: true });
  return node;
}

function render() {
  const sections = whole.tags.map((tag) => {
    const id = `tag-${tag.name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`;
    const cards = Object.entries(whole.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method]?.tags.includes(tag.name)).map((method) =>
        card(method, path, item[method]),
      ),
    );
    return {
      id,
      tag,
      node: el("section", { id }, el("h2", {}, tag.name), el("p", {}, prose(tag.description)), cards),
    };
  });
  document.getElementById("version").textContent = whole.info.version;
  document
    .getElementById("tags")
    .replaceChildren(...sections.map(({ id, tag }) => el("a", { href: `#${id}` }, tag.name)));
  const about = el(
    "section",
    { id: "about" },
    whole.info.description.split("\n\n").map((text) => el("p", {}, prose(text))),
  );
  document.getElementById("operations").replaceChildren(about, ...sections.map(({ node }) => node));
  document.getElementById("search").addEventListener("input", search);
  addEventListener("hashchange", openNamed);
  openNamed();
}

/** Shows the operations that contain every word of the search. */
function search({ target }) {
  const words = target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const node of document.querySelectorAll(".operation")) {
    node.hidden = !words.every((word) => node.dataset.words.includes(word));
  }
  for (const section of document.querySelectorAll("main section")) {
    const cards = [...section.querySelectorAll(".operation")];
    section.hidden = words.length > 0 && cards.every((node) => node.hidden);
  }
}

/** Opens the operation named in the URL. */
function openNamed() {
  const node = document.getElementById(location.hash.slice(1));
  if (node instanceof HTMLDetailsElement) node.open = true;
  node?.scrollIntoView();
}

fetch(`${base}/openapi.json`)
  .then((reply) => reply.json())
  .then((loaded) => {
    whole = loaded;
    render();
  })
  .catch((error) => {
    document.getElementById("operations").textContent =
      `Couldn't load the OpenAPI document: ${error.message}`;
  });
