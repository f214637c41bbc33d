import { EditorView } from "@codemirror/view";

/**
 * Text over a selection is put in by the editor itself. Left to the browser, which joins the selected lines, it would
 * write an inline style, which the page's policy refuses.
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
    // Brackets and quotes go around what is selected: the editor's extensions come first.
    const isTaken = state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, put));
    if (!isTaken) view.dispatch(put());
    return true;
  },
});
