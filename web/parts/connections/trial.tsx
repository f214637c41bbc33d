import { CircleCheck, PlugZap } from "lucide-react";
import { ApiError, type Fault } from "../../api.ts";
import type { Reply } from "../../calls.ts";
import { serverSentence, t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { showProblem } from "../base/problem.ts";
import { faultsOf } from "../form/frame.tsx";

/** A call that tests settings without saving them. */
interface Test {
  data: Reply<"POST /api/v1/connections/test"> | undefined;
  error: Error | null;
  isPending: boolean;
}

/** Errors of a test, by field. */
export function trialFaults({ data, error }: Test): readonly Fault[] {
  if (!data?.field) return faultsOf(error);
  return [
    { loc: ["body", ...data.field], msg: serverSentence(data.verificationError ?? ""), type: "upstream" },
  ];
}

export function TestButton({ test, onTest }: { test: Test; onTest: () => void }) {
  return (
    <Button
      icon={PlugZap}
      busy={test.isPending}
      onClick={({ currentTarget }) => showProblem(currentTarget.form) || onTest()}
    >
      {t("Test")}
    </Button>
  );
}

/** Result of the last test of the form's values. */
export function TrialResult({ test: { data, error } }: { test: Test }) {
  if (error)
    return error instanceof ApiError && error.faults.length > 0 ? (
      <Failed reason={t("Check the fields above.")} />
    ) : (
      <Failed reason={error.message} />
    );
  if (!data) return null;
  if (data.verificationError !== null) return <Failed reason={serverSentence(data.verificationError)} />;
  return (
    <p
      role="status"
      className="mb-4 flex items-center gap-2 rounded-md bg-good-soft px-3 py-2 text-sm text-good"
    >
      <CircleCheck size={15} aria-hidden className="shrink-0" />
      {t("The test succeeded. Nothing was saved.")}
    </p>
  );
}

const Failed = ({ reason }: { reason: string }) => (
  <p role="alert" className="mb-4 break-words rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
    {t("The test failed: {reason}", { reason })}
  </p>
);
