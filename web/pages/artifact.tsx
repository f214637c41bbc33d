import { ListChecks, Trash2 } from "lucide-react";
import { useState } from "react";
import { Redirect, useLocation } from "wouter";
import type { Artifact } from "../calls.ts";
import { useApi, useChange, useMay } from "../data.ts";
import { fileOf, isDashboard, kindOf, pageOf, previewOf, titleOf } from "../parts/artifacts/artifact.ts";
import { ContentLink } from "../parts/artifacts/content-link.tsx";
import { boardOf, Flashboard, panelsOf } from "../parts/artifacts/flashboard.tsx";
import { ArtifactView } from "../parts/artifacts/view.tsx";
import { IconButton, LinkButton } from "../parts/base/button.tsx";
import { Confirm } from "../parts/base/dialog.tsx";
import { PageHead, Section, Shown } from "../parts/base/page.tsx";
import { Tag } from "../parts/base/status.tsx";
import { sized, When } from "../parts/base/time.tsx";
import { AddToDashboard } from "../parts/dashboards/add-to.tsx";
import { SaveAsDashboard } from "../parts/dashboards/save-as.tsx";
import { t } from "../texts/text.ts";

export default function ArtifactPage({ id }: { id: string }) {
  const artifact = useApi("GET /api/v1/artifacts/{artifact_id}", { path: { artifact_id: id } });
  const [at] = useLocation();
  return (
    <Shown of={artifact} isPage>
      {(data) => (pageOf(data) === at ? <Whole artifact={data} /> : <Redirect to={pageOf(data)} replace />)}
    </Shown>
  );
}

function Whole({ artifact }: { artifact: Artifact }) {
  const may = useMay("member");
  const [isRemoving, setRemoving] = useState(false);
  const file = fileOf(artifact);
  const board = boardOf(artifact.content.data);
  // For a dashboard, users usually want the page that works without Weir.
  const beside = useApi(
    "GET /api/v1/artifacts",
    { query: { action_run_id: artifact.actionRunId, kind: "file", limit: 20 } },
    { enabled: board !== null },
  );
  const whole = beside.data?.artifacts.find((each) => previewOf(each) === "html") ?? artifact;
  return (
    <>
      <PageHead
        title={titleOf(artifact)}
        from={[isDashboard(artifact) ? ["/dashboards", t("Dashboards")] : ["/artifacts", t("Artifacts")]]}
        beside={<Tag>{kindOf(artifact)}</Tag>}
        about={
          <span className="flex flex-wrap gap-x-3">
            {file && <span className="[overflow-wrap:anywhere]">{file.name}</span>}
            {file && <span>{sized(file.bytes)}</span>}
            <span>
              {t("Created")} <When at={artifact.createdAt} />
            </span>
          </span>
        }
      >
        {may && <IconButton icon={Trash2} label={t("Delete artifact")} onClick={() => setRemoving(true)} />}
        {may && board && (
          <>
            <AddToDashboard panels={panelsOf(board)} name={board.title} />
            <SaveAsDashboard artifactId={artifact.id} />
          </>
        )}
        <LinkButton href={`/runs/${artifact.actionRunId}`} icon={ListChecks}>
          {t("Open run")}
        </LinkButton>
        <ContentLink
          id={whole.id}
          file={fileOf(whole)?.name ?? `${titleOf(whole)}.${whole.kind === "json" ? "json" : "txt"}`}
          name={t("Download")}
          isButton
        />
      </PageHead>
      {board ? (
        <Flashboard board={board} />
      ) : (
        <Section title={t("Content")}>
          <ArtifactView artifact={artifact} />
        </Section>
      )}
      {isRemoving && <Remove artifact={artifact} onClose={() => setRemoving(false)} />}
    </>
  );
}

function Remove({ artifact, onClose }: { artifact: Artifact; onClose: () => void }) {
  const [, go] = useLocation();
  const remove = useChange("DELETE /api/v1/artifacts/{artifact_id}", {
    touches: ["/artifacts"],
    done: t("{artifact} deleted", { artifact: titleOf(artifact) }),
    onDone: () => go(isDashboard(artifact) ? "/dashboards" : "/artifacts"),
  });
  return (
    <Confirm
      title={t("Delete {artifact}?", { artifact: titleOf(artifact) })}
      verb={t("Delete")}
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { artifact_id: artifact.id } }, { onError: onClose })}
    >
      <p>{t("This permanently deletes the content. The run is kept, and you can run it again.")}</p>
    </Confirm>
  );
}
