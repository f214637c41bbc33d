import ts from "typescript-classic";
import { lineOf, parsed } from "./uses.ts";

/** A text that people see and that is in English in every language. */
export interface BareText {
  text: string;
  line: number;
}

/** What reads the same in every language: names of products and formats, keys, examples of addresses and expressions. */
const SAME = new Set<string>([
  ...["Weir", "Shopify", "Slack", "Stripe", "Svix", "Telegram", "GitHub", "GitLab", "Standard Webhooks"],
  ...[
    "API",
    "CSV",
    "HTTP",
    "ID",
    "JSON",
    "Markdown",
    "OpenAPI",
    "Postman",
    "NULL",
    "SQL",
    "URL",
    "YAML",
    "curl",
    "GiB",
    "flashboard",
    "text",
    "true",
    "false",
  ],
  ...[
    "Inter",
    "Authorization",
    "Bearer {}",
    "Basic {}",
    "HMAC-{}",
    "X-SVC-Timestamp",
    "Authorization: Bearer TOKEN",
  ],
  ...["10.1.0.0/16\ndb.internal:5432", "curl https://api.example.com/v1/orders?limit=10"],
  ...["payload.total > 100", "total > {{input.least}}"],
]);

/** Code: `created_at`, `marts.orders`, `{{payload.orders}}`, `{http, configSchema}`, `weir runs get {}`. */
const CODE = /^(?:[a-z]\w*(?:[._]\w+)+|\{\{[\w.]+\}\}|\{\w[^{}]*\}|weir [a-z]+ [a-z]+ .*)$/;

/** Names of keys, alone or pressed together. */
const KEYS = /^(?:(?:Ctrl|Control|Meta|Shift|Alt|Esc|Enter|Home|End|Del|Delete|Backspace|F\d|[A-Z])[+, ]*)+$/;

/** Attributes and properties whose values people see. */
const SEEN =
  /^(?:aria-(?:label|description|roledescription)|title|placeholder|alt|label|about|aside|heading|text|empty|hint|subtitle|done|question|button|note|unit|verb|description|none|noMatches|create|first|message|copyLabel|deleteLabel|words)$/;

/** Attributes and properties whose values programs read. */
const UNSEEN =
  /^(?:aria-keyshortcuts|className|buttonClass|href|type|key|id|to|role|dir|rel|target|kind|path|icon|queryKey|status|tone|color|mode|method|list|language|scope|sql|one|other|d|viewBox|layer|field)$/;

/** Functions whose literals are names of things, or that have looked the text up. */
const READ_BY_PROGRAMS =
  /(?:^|\.)(?:t|rich|useApi|useChange|call|callTagged|fetchFile|follow|readStart|refresh|addEventListener|removeEventListener|getItem|setItem|removeItem|get|set|has|add|all|append|startsWith|endsWith|includes|querySelector|querySelectorAll|closest|getElementById|replace|replaceAll|split|Event|DateTimeFormat|matchMedia)$/;

const hasWord = (text: string): boolean => /[A-Za-z]{2}/.test(text);

/** Whether a text is one for people by its looks: it begins like a sentence, or has three words in a row. */
function isForPeople(text: string): boolean {
  const plain = text.trim();
  if (/^(?:GET|POST|PUT|PATCH|DELETE) /.test(plain)) return false;
  return (
    /^[A-Z][a-z']+(?![a-z]*[A-Z])/.test(plain) ||
    /^[A-Z]\w* [a-z]{2,}/.test(plain) ||
    /(?:^|[\s:])[a-z]{2,}(?: [a-z]{2,}){2,}/.test(plain)
  );
}

/** Functions that show what they are given. */
const SHOWS = /(?:^|\.)(?:notify|say)$/;

/** Whether an object has the values of a text: `t("{name} saved", { name: … })`. */
const isValueOfText = (node: ts.Node): boolean =>
  ts.isCallExpression(node.parent) && /^(?:t|rich|plural)$/.test(node.parent.expression.getText());

/** Whether a value is drawn, said, or put into a text that is: as it is, by a condition, or in a template. */
function isShown(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isJsxExpression(parent)) return ts.isJsxElement(parent.parent) || ts.isJsxFragment(parent.parent);
  if (ts.isCallExpression(parent))
    return parent.arguments[0] === node && SHOWS.test(parent.expression.getText());
  if (ts.isConditionalExpression(parent)) return parent.condition !== node && isShown(parent);
  if (ts.isPropertyAssignment(parent)) return isValueOfText(parent.parent);
  return (
    (ts.isParenthesizedExpression(parent) ||
      ts.isTemplateSpan(parent) ||
      ts.isTemplateExpression(parent) ||
      (ts.isBinaryExpression(parent) && /^(?:\?\?|\|\||&&|\+)$/.test(parent.operatorToken.getText()))) &&
    isShown(parent)
  );
}

/** The text of a literal or template; null for anything else. */
function literalOf(node: ts.Node): string | null {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `{}${literal.text}`).join("");
}

/** The attribute or property that a value is given to, through conditions. */
function nameOf(node: ts.Node): string | null {
  const { parent } = node;
  if (ts.isJsxAttribute(parent) || (ts.isPropertyAssignment(parent) && parent.initializer === node))
    return parent.name.getText();
  const isThrough =
    ts.isConditionalExpression(parent) ||
    ts.isJsxExpression(parent) ||
    ts.isParenthesizedExpression(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isTemplateSpan(parent) ||
    ts.isTemplateExpression(parent) ||
    (ts.isBinaryExpression(parent) && /^(?:\?\?|\|\||&&)$/.test(parent.operatorToken.getText()));
  return isThrough ? nameOf(parent) : null;
}

const isJoin = ({ parent }: ts.Node): boolean =>
  ts.isCallExpression(parent) && /\.join$/.test(parent.expression.getText());

function isForPrograms(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  if (ts.isBinaryExpression(parent)) return /^[!=]==?$|^in$/.test(parent.operatorToken.getText());
  if (ts.isCallExpression(parent)) {
    return !isJoin(node) && READ_BY_PROGRAMS.test(parent.expression.getText());
  }
  return (
    ts.isElementAccessExpression(parent) ||
    ts.isCaseClause(parent) ||
    (ts.isNewExpression(parent) && !/Error$/.test(parent.expression.getText())) ||
    ts.isTaggedTemplateExpression(parent)
  );
}

const isCode = (node: ts.JsxText): boolean =>
  ts.isJsxElement(node.parent) && /^(?:code|kbd|pre)$/.test(node.parent.openingElement.tagName.getText());

/** Each text of a file that people see without `t`, `rich` or `plural`. */
export function bareTextsIn(path: string, source: string): BareText[] {
  const file = parsed(path, source);
  const found: BareText[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isTypeNode(node)) return;
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    const text = ts.isJsxText(node) ? node.text.replace(/\s+/g, " ").trim() : literalOf(node);
    if (text !== null && isBare(node, text)) found.push({ text, line: lineOf(file, node) });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isBare(node: ts.Node, text: string): boolean {
  const plain = text.trim();
  if (!hasWord(plain.replaceAll("{}", "")) || /^\S*\/\S*$/.test(plain) || SAME.has(plain)) return false;
  if (KEYS.test(plain) || CODE.test(plain)) return false;
  if (ts.isJsxText(node)) return !isCode(node);
  if (isForPrograms(node)) return false;
  const name = nameOf(node);
  if (name !== null && UNSEEN.test(name)) return false;
  return (name !== null && SEEN.test(name)) || isShown(node) || isJoin(node) || isForPeople(text);
}
