import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { isObject } from "../../base/json.ts";
import { jsonOf } from "../api/send.ts";

export interface SellerFault {
  status: number;
  /** Amazon's error code, such as `Unauthorized`. */
  code: string;
  message: string;
  /** True if the access token itself was rejected, not the request. */
  isTokenFault: boolean;
}

const MAX_FAULT_BYTES = 65_536;

export async function faultOf(response: EgressResponse): Promise<SellerFault> {
  const { bytes } = await response.bytes(MAX_FAULT_BYTES);
  const reply = await jsonOf(new TextDecoder().decode(bytes));
  const [first] = isObject(reply) && Array.isArray(reply.errors) ? reply.errors : [];
  const word = (name: string) => {
    const value = isObject(first) ? first[name] : null;
    return typeof value === "string" ? value.slice(0, 300) : "";
  };
  const { status } = response;
  const isTokenFault =
    status === 401 || (status === 403 && /token.*(expired|revoked|malformed|invalid)/i.test(word("details")));
  return { status, code: word("code"), message: word("message"), isTokenFault };
}

/** Error for a response other than 2xx, with a sentence that says what to change. */
export function refusal(operation: string, fault: SellerFault): AppError {
  const { status, code, message, isTokenFault } = fault;
  const make = (text: string, retryable = false) =>
    new AppError("upstream", text, { retryable, cause: fault, details: { operation, status, code } });
  if (status >= 500) return make(`Amazon's Selling Partner API is busy or failing (${status}).`, true);
  if (isTokenFault) return make("Amazon's Selling Partner API rejected the access token.");
  if (status === 403) {
    return make(
      `These credentials aren't allowed to call ${operation}: the app lacks a role for it, or the seller hasn't granted it.`,
    );
  }
  if (status === 404)
    return make(`Amazon's Selling Partner API has no ${operation} at this URL, or not this item.`);
  const reason = message === "" ? "" : `: ${message}`;
  return make(
    `Amazon refused ${operation} (${status}${code ? `, ${code}` : ""})${reason}`.replace(/\.?$/, "."),
  );
}
