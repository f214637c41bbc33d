import { useState } from "react";
import { useLocation } from "wouter";
import type { Thread } from "../../calls.ts";
import { useChange } from "../../data.ts";
import { Button } from "../base/button.tsx";
import { Confirm, Dialog } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";
import { messagesBy } from "../form/frame.tsx";

export const titleOf = ({ title }: Pick<Thread, "title">): string => title ?? "New chat";

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
      title="Rename the chat"
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>Not now</Button>
          <Button kind="main" busy={save.isPending} onClick={send}>
            Rename
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
          label="Title"
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
    done: "Deleted the chat",
    onDone: () => go("/chat"),
  });
  return (
    <Confirm
      title="Delete this chat?"
      verb="Delete"
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { thread_id: thread.id } }, { onError: onClose })}
    >
      <p>
        All that was said in it goes, and can't be had back. Runs that it started stay; an answer under way is
        ended.
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
    done: ({ deletedCount }) => `Deleted ${deletedCount} ${deletedCount === 1 ? "chat" : "chats"}`,
    onDone() {
      onDone();
      onClose();
    },
  });
  return (
    <Confirm
      title={`Delete ${ids.length} ${ids.length === 1 ? "chat" : "chats"}?`}
      verb="Delete"
      isBusy={remove.isPending}
      onClose={onClose}
      onConfirm={() => remove.mutate({ body: { threadIds: [...ids] } }, { onError: onClose })}
    >
      <p>All that was said in them goes, and can't be had back.</p>
    </Confirm>
  );
}
