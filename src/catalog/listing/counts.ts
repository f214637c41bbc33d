import { hasRole, isTextual, isWhole, numberIn, type QueryParameter } from "./parameters.ts";
import { plainName } from "./words.ts";

/** The number of the first page; null if unknown. */
export function startOf(parameter: QueryParameter): number | null {
  const preset = numberIn(parameter, "default");
  if (preset === 0 || preset === 1) return preset;
  const minimum = numberIn(parameter, "minimum");
  if (preset === null && minimum === 1) return 1;
  const describedStart = startSaid(parameter.description);
  return preset === null ? describedStart : null;
}

const ZERO =
  /zero[- ]?(?:based|indexed)|\b0[- ](?:based|indexed)|(?:start(?:s|ing)?|begin(?:s|ning)?|index(?:ed)?) (?:at|from|with) (?:0|zero)\b|first page (?:is|=|has)[^.]{0,20}\b0\b|default(?:s| is|s to|: ?|=| value is| value:| page is)*\s*[`'"]?0\b/i;
const ONE =
  /one[- ]?(?:based|indexed)|\b1[- ](?:based|indexed)|(?:start(?:s|ing)?|begin(?:s|ning)?|index(?:ed)?) (?:at|from|with) (?:1|one)\b|first page (?:is|=|has)[^.]{0,20}\b1\b|default(?:s| is|s to|: ?|=| value is| value:| page is)*\s*[`'"]?1\b/i;

function startSaid(text: string): number | null {
  const [isZero, isOne] = [ZERO.test(text), ONE.test(text)];
  return isZero === isOne ? null : isZero ? 0 : 1;
}

const COUNTS_ROWS =
  /\b(?:index|number|position|offset|count) of (?:the )?(?:first |starting |matching |initial )?(?:items?|rows?|records?|results?|elements?|entry|entries|objects?|resources?)\b|\b(?:items?|rows?|records?|results?|elements?|entries|objects?|resources?) (?:that are |to be |to )?(?:skip|pass|omit|ignore)|\bskip(?:s|ped)?\b[^.]{0,20}\b(?:items?|rows?|records?|results?|elements?|entries|objects?|resources?)\b/i;
/** Mentions of pages that don't count pages. */
const PAGES_BESIDE =
  /\b(?:per page|page sizes?|(?:a|an|the|each|one|next|previous|first|last) (?:\w+ )?pages?\b(?! (?:number|index|offset|to\b|is\b))|pages? of (?:the )?(?:results?|items?|records?|rows?|data|entries|objects))/gi;
/** Names of parameters for the last row or value wanted. */
const UPPER = /^(?:to|end|until|upto|endindex|endat|last|lastindex|stop)$/;

/** The offset of the first row; null if unknown, or if the parameter may count pages or bound something else. */
export function offsetOf(parameter: QueryParameter, parameters: readonly QueryParameter[]): number | null {
  const { name, description } = parameter;
  const plain = plainName(name);
  const countsRows = COUNTS_ROWS.test(description);
  if (!countsRows && /\bpages?\b/i.test(description.replace(PAGES_BESIDE, ""))) return null;
  if (parameters.some((each) => UPPER.test(plainName(each.name)) && isWhole(each))) return null;
  const isVague = plain === "from" || plain === "start";
  const isPaged = parameters.some((each) => hasRole(each, "size"));
  if (isVague && !isPaged && !countsRows && !/\b(?:offset|index|position|skip|pagin)/i.test(description))
    return null;
  const preset = numberIn(parameter, "default");
  const minimum = numberIn(parameter, "minimum");
  if (preset === 0 || preset === 1) return preset;
  if (preset !== null) return null;
  if (/^(page)?(offset|skip)$|^paginationoffset$/.test(plain)) return minimum === 1 ? null : 0;
  if (minimum === 1) return 1;
  return startSaid(description);
}

type Size = { sizeParam?: string; pageSize?: number };

/** Names of page sizes that also have other meanings. */
const VAGUE_SIZES = new Set(["size", "count", "max", "first", "top", "take", "rows", "n", "nb", "num"]);
const SAYS_SIZE =
  /\bpag|\bresults?\b|\breturn|\bitems?\b|\brecords?\b|\brows?\b|\bentries\b|\belements?\b|\bobjects?\b|\bresponse\b|\bhow many\b|\bnumber of\b|\blimit\b|\bfetch|\bretriev|\bat most\b|\bmaximum (?:number|amount|count)\b/i;

/** Whether the parameter is certainly the page size; otherwise it may be a filter. */
export function isSize(parameter: QueryParameter): boolean {
  const { name, schema, description } = parameter;
  if (!isWhole(parameter) && !(isTextual(parameter) && schema.enum === undefined)) return false;
  const plain = plainName(name);
  if (!VAGUE_SIZES.has(plain)) return true;
  return description === "" ? isWhole(parameter) && plain !== "max" : SAYS_SIZE.test(description);
}

export function sizeOf(parameters: readonly QueryParameter[]): Size {
  const whole = parameters.filter(isSize);
  const preferred = whole.filter(({ name }) => /page.*size|per.*page|limit|size/.test(plainName(name)));
  const [parameter] = whole.length === 1 ? whole : preferred.length === 1 ? preferred : [];
  if (!parameter) return {};
  const maximum = numberIn(parameter, "maximum");
  const own = parameter.isRequired ? numberIn(parameter, "default") : null;
  const pageSize = maximum !== null && maximum > 0 && maximum <= 10_000 ? maximum : own;
  return { sizeParam: parameter.name, ...(pageSize === null || pageSize < 1 ? {} : { pageSize }) };
}
