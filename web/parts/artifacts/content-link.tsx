import { Download } from "lucide-react";
import { fetchFile } from "../../api.ts";
import { useMe } from "../../data.ts";
import { download } from "../base/download.ts";
import { notify } from "../base/toast.tsx";
import { contentUrl } from "./artifact.ts";

interface Props {
  /** ID of the artifact. */
  id: string;
  /** Filename. */
  file: string;
  name: string;
  isButton?: boolean;
}

const LINK = "inline-flex items-center gap-1 text-accent hover:underline";
const BUTTON =
  "inline-flex h-8 items-center gap-1.5 rounded-md bg-accent px-3 text-sm font-medium whitespace-nowrap text-on-accent hover:bg-accent-strong";

/**
 * Link to the content of an artifact as a file. The browser fetches it directly, so that none of it becomes part of the
 * page. A link can't select an organization, so users of several get it through the page.
 */
export function ContentLink({ id, file, name, isButton = false }: Props) {
  const isOneOfMany = useMe().memberships.length > 1;
  const take = async () => {
    const input = { path: { artifact_id: id } };
    const content = await fetchFile(
      "GET /api/v1/artifacts/{artifact_id}/content",
      input,
      new AbortController().signal,
    );
    download(file, content);
  };
  return (
    <a
      href={contentUrl({ id })}
      className={isButton ? BUTTON : LINK}
      download
      onClick={(event) => {
        if (!isOneOfMany) return;
        event.preventDefault();
        take().catch((error: Error) => notify(error.message, "bad"));
      }}
    >
      <Download size={isButton ? 15 : 14} aria-hidden className="shrink-0" /> {name}
    </a>
  );
}
