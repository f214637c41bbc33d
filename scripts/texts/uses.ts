import ts from "typescript-classic";

/** A text that the page has translated where it is shown. */
export interface TextUse {
  key: string;
  /** Names of its placeholders, and of its elements, sorted. */
  names: string[];
  isPlural: boolean;
  line: number;
  /** Whether it is looked up while its module is evaluated, which may be before the texts are there. */
  isAtLoad: boolean;
}

/** The names in a text: `{count}`, `<link>here</link>`, and `#` for the count of plural forms. */
export const namesIn = (text: string, isPlural: boolean): string[] =>
  [
    ...new Set([
      ...[...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name),
      ...[...text.matchAll(/<(\w+)>.*?<\/\1>/g)].map(([, name = ""]) => name),
      ...(isPlural && text.includes("#") ? ["#"] : []),
    ]),
  ].sort();

export const parsed = (path: string, source: string): ts.SourceFile =>
  ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);

export const lineOf = (file: ts.SourceFile, node: ts.Node): number =>
  file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;

/** Methods that call a function at once. */
const AT_ONCE = /\.(?:map|flatMap|filter|find|sort|reduce|forEach|from)$/;

/** Whether a node is evaluated with its module: in no function, or in one that is called at once. */
function isAtLoad(node: ts.Node): boolean {
  for (let each = node.parent; each; each = each.parent) {
    if (!ts.isFunctionLike(each)) continue;
    const { parent } = each;
    const isCalled = ts.isCallExpression(parent) && AT_ONCE.test(parent.expression.getText());
    if (!isCalled) return false;
  }
  return true;
}

/** `{ one: "# run", other: "# runs" }`: both forms of a text by its count. */
function pluralOf(node: ts.ObjectLiteralExpression): { one: string; other: string } | null {
  const form = (name: string) => {
    const property = node.properties.find((each) => each.name?.getText() === name);
    return property && ts.isPropertyAssignment(property) && ts.isStringLiteralLike(property.initializer)
      ? property.initializer.text
      : null;
  };
  const [one, other] = [form("one"), form("other")];
  return one === null || other === null ? null : { one, other };
}

/** Each text that a file has translated, and where it calls `t` with something else than a literal. */
export function usesIn(path: string, source: string): { uses: TextUse[]; unknown: number[] } {
  const file = parsed(path, source);
  const uses: TextUse[] = [];
  const unknown: number[] = [];
  const add = (node: ts.Node, key: string, isPlural: boolean) =>
    uses.push({
      key,
      names: namesIn(key, isPlural),
      isPlural,
      line: lineOf(file, node),
      // the forms of a plural are looked up where it is shown
      isAtLoad: !isPlural && isAtLoad(node),
    });
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(?:t|rich)$/.test(node.expression.getText(file))) {
      const [key] = node.arguments;
      if (key && ts.isStringLiteralLike(key)) add(node, key.text, false);
      else unknown.push(lineOf(file, node));
    }
    if (ts.isObjectLiteralExpression(node)) {
      const forms = pluralOf(node);
      if (forms) add(node, forms.other, true);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { uses, unknown };
}
