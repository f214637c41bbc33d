import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { readStart } from "../../api.ts";
import type { Artifact } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { Shown } from "../base/page.tsx";
import { sized } from "../base/time.tsx";
import { Tree } from "../base/tree.tsx";
import { contentUrl, previewOf, titleOf } from "./artifact.ts";
import { boardOf, Flashboard } from "./flashboard.tsx";

/** Maximum content to load and show. */
const SHOWN_BYTES = 512 * 1024;
/** JSON can only be read whole. */
const JSON_BYTES = 8 * 1024 * 1024;

/** Content of an artifact, shown by its kind. Nothing in it is executed or becomes part of this page. */
export function ArtifactView({ artifact }: { artifact: Artifact }) {
  switch (previewOf(artifact)) {
    case "tree":
      return <Tree value={artifact.content.data} copyLabel={t("Copy content as JSON")} />;
    case "image":
      return <Picture artifact={artifact} />;
    case "html":
      return <Html artifact={artifact} />;
    case "text":
      return <Text artifact={artifact} />;
    default:
      return (
        <p className="text-sm text-soft">
          {t("No preview available for this file type. Download the file to view it.")}
        </p>
      );
  }
}

/** An image's address can't select an organization, so users of several may not get it. */
function Picture({ artifact }: { artifact: Artifact }) {
  const [isLacking, setLacking] = useState(false);
  if (isLacking)
    return <p className="text-sm text-soft">{t("Couldn't load the image. Download the file to view it.")}</p>;
  return (
    <img
      src={contentUrl(artifact)}
      alt={titleOf(artifact)}
      onError={() => setLacking(true)}
      className="max-h-[70vh] max-w-full rounded border border-line"
    />
  );
}

function useContent({ id }: Artifact, bytes = SHOWN_BYTES) {
  return useQuery({
    queryKey: ["content of an artifact", id],
    queryFn: ({ signal }) =>
      readStart(
        "GET /api/v1/artifacts/{artifact_id}/content",
        { path: { artifact_id: id } },
        { bytes, signal },
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const Cut = () => (
  <p className="mt-3 text-xs text-soft">
    {t("Preview of the first {SHOWN_BYTES}. Download for the full content.", {
      SHOWN_BYTES: sized(SHOWN_BYTES),
    })}
  </p>
);

/** Text, or JSON that was too large to be included in the artifact. */
function Text({ artifact }: { artifact: Artifact }) {
  const isJson = artifact.kind === "json";
  const content = useContent(artifact, isJson ? JSON_BYTES : SHOWN_BYTES);
  return (
    <Shown of={content}>
      {({ text: all, isWhole: isAll }) => {
        const value = isAll && isJson ? parsed(all) : undefined;
        const board = boardOf(value);
        if (board) return <Flashboard board={board} />;
        if (value !== undefined) return <Tree value={value} copyLabel={t("Copy content as JSON")} />;
        const text = all.slice(0, SHOWN_BYTES);
        const isWhole = isAll && text.length === all.length;
        return (
          <>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
            <section aria-label={t("Content")} tabIndex={0} className="max-h-[70vh] overflow-auto">
              <pre dir="auto" className="font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]">
                {text === "" ? t("Empty") : text}
              </pre>
            </section>
            {!isWhole && <Cut />}
          </>
        );
      }}
    </Shown>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // then it is shown as text
  }
}

/** A frame with an opaque origin, where no script runs and nothing is loaded. */
function Html({ artifact }: { artifact: Artifact }) {
  const content = useContent(artifact);
  return (
    <Shown of={content}>
      {({ text, isWhole }) => (
        <>
          <iframe
            title={titleOf(artifact)}
            sandbox=""
            referrerPolicy="no-referrer"
            srcDoc={text}
            className="h-[70vh] w-full rounded border border-line bg-[#fff]"
          />
          <p className="mt-2 text-xs text-soft">
            {t("Scripts and remote content are blocked in this preview. Download for the original.")}
          </p>
          {!isWhole && <Cut />}
        </>
      )}
    </Shown>
  );
}
