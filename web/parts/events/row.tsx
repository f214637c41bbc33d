import { useState } from "react";
import type { AuditEvent } from "../../calls.ts";
import { t } from "../../texts/text.ts";
import { StatusIcon } from "../base/status.tsx";
import { counted, When } from "../base/time.tsx";
import { type EventText, subjectOf, titleOf, toneOf, who } from "./words.ts";

interface Props {
  entry: EventText;
  subjects: ReadonlyMap<string, string>;
  onOpen: (event: AuditEvent) => void;
}

/** An event on one line. Earlier progress events of the run can be expanded. */
export function EventRow({ entry: { event, before }, subjects, onOpen }: Props) {
  const [isUnfolded, setUnfolded] = useState(false);
  return (
    <>
      <li className="border-t border-line first:border-t-0">
        <button
          type="button"
          onClick={() => onOpen(event)}
          className="flex w-full items-center gap-x-3 px-4 py-2 text-left text-sm hover:bg-sunken/60 max-sm:flex-wrap"
        >
          <StatusIcon status={toneOf(event.type)} />
          <span className="font-medium sm:shrink-0">{titleOf(event)}</span>
          <span
            className="min-w-0 grow truncate text-soft max-sm:order-last max-sm:basis-full max-sm:pl-7"
            dir="auto"
          >
            {subjectOf(event, subjects)}
          </span>
          <span className="max-w-48 truncate text-xs text-soft max-sm:hidden">{who(event, subjects)}</span>
          <span className="w-20 shrink-0 text-right text-xs text-soft max-sm:ml-auto">
            <When at={event.timestamp} />
          </span>
        </button>
        {before.length > 0 && !isUnfolded && (
          <button
            type="button"
            className="mb-1.5 ml-[2.7rem] block h-6 text-xs text-accent hover:underline"
            onClick={() => setUnfolded(true)}
          >
            {t("{count} earlier", { count: counted(before.length) })}
          </button>
        )}
      </li>
      {isUnfolded &&
        before.map((each) => (
          <EventRow key={each.id} entry={{ event: each, before: [] }} subjects={subjects} onOpen={onOpen} />
        ))}
    </>
  );
}
