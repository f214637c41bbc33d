import { useState } from "react";
import { useLocation } from "wouter";
import type { Thread } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Confirm, Dialog } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";
import { plural } from "../base/plural.ts";
import { messagesBy } from "../form/frame.tsx";

export const titleOf = ({ title }: Pick<Thread, "title">): string => title ?? t("New chat");

interface Props {
  thread: Thread;
  onClose: () => void;
}

export function RenameThread({ thread, onClose }: Props) {
  const [title, setTitle] = useState(thread.title ?? "");
  const save = useChange("PATCH /api/v1/chat/threads/{thread_id}", {
    touches: ["/chat/threads"],
    tellsErrors: false,
    onDone: onClose,
  });
  const send = () => save.mutate({ path: { thread_id: thread.id }, body: { title: title || null } });
  return (
    <Dialog
      title={t("Rename chat")}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button kind="main" busy={save.isPending} onClick={send}>
            {t("Rename")}
          </Button>
        </>
      }
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <TextField
          label={t("Title")}
          value={title}
          onChange={setTitle}
          fault={messagesBy(save.error)("title") ?? save.error?.message}
          maxLength={255}
          autoFocus
        />
      </form>
    </Dialog>
  );
}

export function DeleteThread({ thread, onClose }: Props) {
  const [, go] = useLocation();
  const remove = useChange("DELETE /api/v1/chat/threads/{thread_id}", {
    touches: ["/chat/threads"],
    done: t("Chat deleted"),
    onDone: () => go("/chat"),
  });
  return (
    <Confirm
      title={t("Delete chat?")}
      verb={t("Delete")}
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { thread_id: thread.id } }, { onError: onClose })}
    >
      <p>
        {t(
          "This permanently deletes all messages and stops any answer in progress. Runs it started are kept.",
        )}
      </p>
    </Confirm>
  );
}

interface ManyProps {
  ids: readonly string[];
  onClose: () => void;
  onDone: () => void;
}

export function DeleteThreads({ ids, onClose, onDone }: ManyProps) {
  const remove = useChange("POST /api/v1/chat/threads/bulk-delete", {
    touches: ["/chat/threads"],
    done: ({ deletedCount }) => plural(deletedCount, { one: "# chat deleted", other: "# chats deleted" }),
    onDone() {
      onDone();
      onClose();
    },
  });
  return (
    <Confirm
      title={plural(ids.length, { one: "Delete # chat?", other: "Delete # chats?" })}
      verb={t("Delete")}
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ body: { threadIds: [...ids] } }, { onError: onClose })}
    >
      <p>{t("This permanently deletes all of their messages.")}</p>
    </Confirm>
  );
}
