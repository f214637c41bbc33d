import type { EgressResponse } from "../../base/egress.ts";
import { AppError } from "../../base/errors.ts";
import { changedFile } from "../files/streams.ts";
import type { S3Request } from "./client.ts";
import { regionOf, type S3Link } from "./shape.ts";
import { readXml, textOf } from "./xml.ts";

/** Content of an error response: S3's code, if it has one. */
export interface Fault {
  code: string;
  message: string;
  region: string | null;
}

const MAX_FAULT_BYTES = 65_536;

/** Reads an error response; the code is empty if it isn't XML. */
export async function faultOf(response: EgressResponse): Promise<Fault> {
  const { bytes } = await response.bytes(MAX_FAULT_BYTES);
  const text = new TextDecoder().decode(bytes);
  const named = response.headers.get("x-amz-bucket-region");
  try {
    const root = readXml(text);
    return {
      code: root.name === "Error" ? (textOf(root, "Code") ?? "") : "",
      message: textOf(root, "Message") ?? "",
      region: named ?? textOf(root, "Region"),
    };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { code: "", message: text.slice(0, 500), region: named };
  }
}

const BUSY = new Set([
  "SlowDown",
  "ServiceUnavailable",
  "InternalError",
  "RequestTimeout",
  "TooManyRequests",
]);

/** The error for a response other than 2xx, in a sentence that says what to change. */
export function refusal(
  link: S3Link,
  request: S3Request,
  status: number,
  headers: Headers,
  fault: Fault,
): AppError {
  const { bucket } = link.config;
  const cause = { status, ...fault };
  const make = (text: string, retryable = false) => new AppError("upstream", text, { retryable, cause });
  const about = (setting: string, text: string) =>
    new AppError("upstream", text, { cause, details: { setting } });
  if (status >= 500 || status === 429 || BUSY.has(fault.code)) {
    const seconds = Number(headers.get("retry-after") ?? Number.NaN);
    return new AppError("upstream", `The object store is busy or failing (${fault.code || status}).`, {
      retryable: true,
      cause,
      ...(seconds > 0 ? { retryAfterSeconds: seconds } : {}),
    });
  }
  const region = fault.region && fault.region !== regionOf(link.config) ? fault.region : null;
  if (region || status === 301 || status === 307) {
    return about(
      "config.region",
      region
        ? `The bucket ${bucket} is in the region ${region}, not in ${regionOf(link.config)}. Set region to ${region}.`
        : `The bucket ${bucket} needs another address. Check region, endpointUrl and forcePathStyle.`,
    );
  }
  switch (fault.code) {
    case "NoSuchBucket":
      return about("config.bucket", `There is no bucket ${bucket} at this address.`);
    case "NoSuchKey":
      return noSuchFile(request.key);
    case "NoSuchUpload": // also if it was completed, and the response was lost
      return make(
        `The object store no longer knows the upload of ${JSON.stringify(request.key)}. Try again.`,
        true,
      );
    case "InvalidObjectState":
      return make(
        `${JSON.stringify(request.key)} is archived. Restore it in the object store and try again.`,
      );
    case "PreconditionFailed":
      return changedFile(request.key);
    case "InvalidAccessKeyId":
      return about("credentials.accessKeyId", "The object store doesn't know this accessKeyId.");
    case "SignatureDoesNotMatch":
      return about("credentials.secretAccessKey", "The secretAccessKey doesn't belong to this accessKeyId.");
    case "InvalidToken":
    case "ExpiredToken":
    case "TokenRefreshRequired":
      return about("credentials.sessionToken", "The sessionToken has expired or is invalid.");
    case "RequestTimeTooSkewed":
      return make("This machine's clock differs too much from the object store's.");
    case "AccessDenied":
    case "AllAccessDisabled":
    case "AccountProblem":
      return make(denied(request, bucket));
  }
  if (status === 404)
    return request.key === ""
      ? about("config.bucket", `There is no bucket ${bucket} at this address.`)
      : noSuchFile(request.key);
  if (status === 401 || status === 403) return make(denied(request, bucket));
  if (status === 412) return changedFile(request.key);
  return make(`The object store returned ${status}${fault.code ? ` (${fault.code})` : ""}.`);
}

const denied = (request: S3Request, bucket: string): string => {
  const what =
    request.key === ""
      ? "list"
      : request.method === "GET" || request.method === "HEAD"
        ? "read from"
        : "write to";
  return `These keys can't ${what} the bucket ${bucket}.`;
};

export const noSuchFile = (path: string): AppError =>
  new AppError("not_found", `There is no file or folder ${JSON.stringify(path)}.`);
