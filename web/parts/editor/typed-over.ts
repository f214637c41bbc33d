import { EditorView } from "@codemirror/view";

/**
 * Replaces a selection by typed text. The browser would join the selected lines with an inline style,
 * which the CSP blocks.
 */
export const typedOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data, isComposing } = event as InputEvent;
    const { state } = view;
    const { from, to, empty } = state.selection.main;
    if (inputType !== "insertText" || data === null || isComposing || empty || state.readOnly) return false;
    event.preventDefault();
    const put = () =>
      state.update(state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    // Brackets and quotes wrap the selection: the editor's extensions come first.
    const isTaken = state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, put));
    if (!isTaken) view.dispatch(put());
    return true;
  },
});
