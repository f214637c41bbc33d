import { pageBelow } from "../base/base-path.ts";
import { AppError } from "../base/errors.ts";
import { Reply, type Visit } from "./operation.ts";
import { PAGE_POLICY, smallPage } from "./page.ts";
import { problemOf } from "./problem.ts";

/** Error page for a browser. */
interface RefusalPage {
  title: string;
  /** Link to continue: its path and label. */
  back: readonly [path: string, name: string];
}

/** A browser that was redirected here shows the response, so errors become a page. */
export async function orPage(visit: Visit, page: RefusalPage, work: () => Promise<Reply>): Promise<Reply> {
  try {
    return await work();
  } catch (error) {
    const { status, headers, isBug } = problemOf(error, visit.correlationId);
    const wantsPage = visit.request.headers.get("accept")?.includes("text/html") === true;
    if (!wantsPage || isBug || !(error instanceof AppError)) throw error;
    return new Reply(
      status,
      new Blob([pageBelow(refusalPage(page, error, visit.correlationId), visit.base)]),
      {
        ...headers,
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": PAGE_POLICY,
      },
      error,
    );
  }
}

const refusalPage = ({ title, back: [path, name] }: RefusalPage, error: AppError, correlationId: string) =>
  smallPage(
    title,
    "/sign-in/shared.js",
    `<p class="bad">${escaped(error.message)}</p>
<p><a class="button" href="${path}">${name}</a></p>
<p><small>${escaped(correlationId)}</small></p>`,
  );

const escaped = (text: string) => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
