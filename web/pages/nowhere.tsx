import { Compass } from "lucide-react";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead } from "../parts/base/page.tsx";

export default function Nowhere() {
  return (
    <>
      <PageHead title="Not found" />
      <div className="card">
        <Empty
          icon={Compass}
          title="There is no page at this address"
          action={<LinkButton href="/">To the start</LinkButton>}
        >
          Press Ctrl K to search for what you had in mind.
        </Empty>
      </div>
    </>
  );
}
