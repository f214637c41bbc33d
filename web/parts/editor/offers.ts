import { EditorState, type Extension } from "@codemirror/state";
import { call } from "../../api.ts";
import { t } from "../../texts/text.ts";
import { plural } from "../base/plural.ts";
import { columnsOf, MOST_DATASETS, type Tables } from "../base/table-name.ts";
import type { CodeProps } from "./code.tsx";
import { openTemplate, type TemplatePath } from "./template-paths.ts";

/** The part of CodeMirror's completion context that is used here. */
interface Position {
  readonly state: EditorState;
  readonly pos: number;
  readonly explicit: boolean;
}

interface Offers {
  from: number;
  options: { label: string; detail?: string; type: string; apply?: string; boost?: number }[];
  validFor?: RegExp;
}

const IN_PATH = /^[\p{L}\p{N}_$@.[\]"-]*$/u;
const IN_NAME = /^[\w.]*$/;

interface OfferOptions {
  language: CodeProps["language"];
  tables?: CodeProps["tables"];
  paths: readonly TemplatePath[];
  words?: CodeProps["words"];
}

/** Members of `weir` in scripts. */
const WEIR = [
  { label: "weir.now", detail: t("string: start time of the run"), type: "property" },
  {
    label: "weir.sql",
    detail: "(text: string, parameters?: object): Promise<object[]>",
    type: "method",
    apply: "weir.sql(",
  },
  {
    label: "weir.http",
    detail:
      "(connection: string, request: { url, method?, query?, body?, … }): Promise<{ status, headers, body }>",
    type: "method",
    apply: "weir.http(",
  },
];

const IN_WORD = /^[\w:.-]*$/;

/** Tables whose dataset has the typed name: `raw.sho`, `raw.shop__orders.na`. */
async function searchTables(word: string): Promise<Tables["columns"]> {
  const [first = "", second = first] = word.split(".");
  const query = { q: second.split("__")[0] ?? "", limit: MOST_DATASETS };
  return call("GET /api/v1/datasets", { query }).then(
    ({ datasets }) => columnsOf(datasets),
    () => ({}), // then only the known ones are offered
  );
}

/**
 * Completions in addition to the language's own: values of the last run after `{{`, in JSON the tables of the lake and
 * in SQL those that the grammar doesn't know, and in scripts the members of `weir` and `input`.
 */
export function offersOf({ language, tables, paths, words = [] }: OfferOptions): Extension {
  const { columns: known = {}, isWhole = true } = tables ?? {};
  const ofTemplates = ({ state, pos }: Position): Offers | null => {
    const { from: start, text } = state.doc.lineAt(pos);
    const open = openTemplate(text, pos - start);
    if (open < 0 || paths.length === 0 || language === "typescript") return null;
    const isClosed = /^[^{}]*\}\}/.test(text.slice(pos - start));
    return {
      from: start + open,
      options: paths.map(({ path, shows }, at) => ({
        label: path,
        detail: shows,
        type: "variable",
        boost: -Math.min(at / 10, 99),
        ...(isClosed ? {} : { apply: `${path}}}` }),
      })),
      validFor: IN_PATH,
    };
  };
  const ofTables = async ({ state, pos, explicit }: Position): Promise<Offers | null> => {
    const { from: start, text } = state.doc.lineAt(pos);
    const before = text.slice(0, pos - start);
    const [word = ""] = /[\w.]*$/.exec(before) ?? [];
    if (language === "sql" ? isWhole : language !== "json") return null;
    if (openTemplate(text, pos - start) >= 0 || (word.length < 2 && !explicit)) return null;
    const found = isWhole ? known : { ...known, ...(await searchTables(word)) };
    const offered = Object.entries(found).filter(([name]) => language === "json" || !(name in known));
    const options = offered.flatMap(([name, columns]) => [
      { label: name, type: "class", detail: plural(columns.length, { one: "# column", other: "# columns" }) },
      ...(word.startsWith(`${name}.`)
        ? columns.map((column) => ({ label: `${name}.${column}`, type: "property" }))
        : []),
    ]);
    return options.length === 0
      ? null
      : { from: pos - word.length, options, ...(isWhole ? { validFor: IN_NAME } : {}) };
  };
  const ofScripts = ({ state, pos }: Position): Offers | null => {
    const { from: start, text } = state.doc.lineAt(pos);
    const [word] = /(?<![\w.$])(?:weir|input)[\w.$[\]"]*$/.exec(text.slice(0, pos - start)) ?? [];
    if (language !== "typescript" || word === undefined) return null;
    const pathOptions = paths.map(({ path, shows }) => ({ label: path, detail: shows, type: "variable" }));
    return { from: pos - word.length, options: [...WEIR, ...pathOptions], validFor: IN_PATH };
  };
  const ofWords = ({ state, pos, explicit }: Position): Offers | null => {
    const { from: start, text, number } = state.doc.lineAt(pos);
    const [word = ""] = /[\w:.-]*$/.exec(text.slice(0, pos - start)) ?? [];
    if (words.length === 0 || (word === "" && !explicit) || !isInFront(state, number)) return null;
    const options = words.map(({ name, about }) => ({ label: name, detail: about, type: "keyword" }));
    return { from: pos - word.length, options, validFor: IN_WORD };
  };
  return EditorState.languageData.of(() => [
    { autocomplete: ofTemplates },
    { autocomplete: ofTables },
    { autocomplete: ofScripts },
    { autocomplete: ofWords },
  ]);
}

/** Returns whether a line is in the front matter. */
function isInFront({ doc }: EditorState, line: number): boolean {
  if (line < 2 || doc.line(1).text.trimEnd() !== "---") return false;
  for (let at = 2; at <= line; at++) if (doc.line(at).text.trimEnd() === "---") return false;
  return true;
}
