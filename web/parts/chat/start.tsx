import { MessageSquarePlus } from "lucide-react";
import { useLocation } from "wouter";
import { useChange } from "../../data.ts";
import { Button } from "../base/button.tsx";

/** Starts a chat with an agent, and opens it. */
export function useStartChat() {
  const [, go] = useLocation();
  return useChange("POST /api/v1/chat/threads", {
    touches: ["/chat/threads"],
    onDone: ({ id }) => go(`/chat/${id}`),
  });
}

export function ChatWith({ agentId, children }: { agentId: string; children: string }) {
  const start = useStartChat();
  return (
    <Button
      kind="main"
      icon={MessageSquarePlus}
      busy={start.isPending}
      onClick={() => start.mutate({ body: { agentSpecId: agentId } })}
    >
      {children}
    </Button>
  );
}
