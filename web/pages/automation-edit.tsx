import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { useApi } from "../data.ts";
import { readDraft } from "../parts/automation-editor/read-draft.ts";
import { Later, part } from "../parts/base/later.tsx";
import { Failed, Loading, Shown } from "../parts/base/page.tsx";

const editor = part(() => import("../parts/automation-editor/editor.tsx"));

/** The editor of an automation. Only this page loads the canvas. */
export default function AutomationEdit({ id }: { id: string }) {
  const path = { automation_id: id };
  const automation = useApi("GET /api/v1/automations/{automation_id}", { path });
  const layout = useApi("GET /api/v1/automations/{automation_id}/layout", { path }, { isFixed: true });
  const draft = useQuery({ queryKey: ["draft", id], queryFn: () => readDraft(id), staleTime: 0, gcTime: 0 });
  useEffect(() => void editor.load().catch(() => undefined), []); // the component reports failures
  useEffect(() => {
    if (automation.data) document.title = `${automation.data.name} · Weir`;
  }, [automation.data]);
  return (
    <Shown of={automation} isPage>
      {(data) => {
        const error = layout.error ?? draft.error;
        if (error)
          return <Failed error={error} again={() => void Promise.all([layout.refetch(), draft.refetch()])} />;
        if (!layout.data || draft.data === undefined || draft.isRefetching) return <Loading />;
        return <Later of={editor} props={{ automation: data, draft: draft.data, layout: layout.data }} />;
      }}
    </Shown>
  );
}
