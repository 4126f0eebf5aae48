package codex_test

import (
	"fmt"
	"strings"
	"testing"

	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

// turnLines are the lines of a turn: what a person asked, and the answer.
func turnLines(id, ask string) []string {
	return []string{
		fmt.Sprintf(`{"timestamp":"2026-02-01T08:00:01.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"%s"}}`, id),
		fmt.Sprintf(`{"timestamp":"2026-02-01T08:00:01.000Z","type":"turn_context","payload":{"turn_id":"%s","cwd":"/w","model":"gpt-x"}}`, id),
		fmt.Sprintf(`{"timestamp":"2026-02-01T08:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]}}`, ask),
		fmt.Sprintf(`{"timestamp":"2026-02-01T08:00:03.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"re %s"}]}}`, ask),
		fmt.Sprintf(`{"timestamp":"2026-02-01T08:00:04.000Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"%s"}}`, id),
	}
}

// TestRollback: turns that were taken back are not in the context (openai/codex#9140, agentclientprotocol/codex-acp#355).
func TestRollback(t *testing.T) {
	rollback := func(n int) string {
		return fmt.Sprintf(`{"timestamp":"2026-02-01T08:00:05.000Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":%d}}`, n)
	}
	lines := []string{codexSample[0]}
	for _, more := range [][]string{turnLines("1", "a"), turnLines("2", "b"), turnLines("3", "c"), {rollback(1)}, turnLines("4", "d"), {rollback(2)}, turnLines("5", "e")} {
		lines = append(lines, more...)
	}
	items, _ := imp.Items(t, codex.Format.Name, "rollout-x.jsonl", formattest.Lines(lines...), formattest.Seen{})
	var kept, gone []string
	for _, it := range items {
		if it.Entry.Kind == record.KindMessage {
			text := string(it.Entry.Payload)
			if strings.Contains(string(it.Entry.Meta), `"context":false`) {
				gone = append(gone, text)
			} else {
				kept = append(kept, text)
			}
		}
	}
	if len(kept) != 4 || len(gone) != 6 || !strings.Contains(kept[0], `"a"`) || !strings.Contains(kept[2], `"e"`) {
		t.Errorf("in the context: %q, taken back: %q", kept, gone)
	}
}

// TestPromptWithPicture: a prompt with a picture is one message.
func TestPromptWithPicture(t *testing.T) {
	items, _ := imp.Items(t, codex.Format.Name, "rollout-x.jsonl", formattest.Lines(codexSample[0],
		`{"timestamp":"2026-02-01T08:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<image name=[Image #1]>"},{"type":"input_image","image_url":"data:image/png;base64,AA=="},{"type":"input_text","text":"</image>"},{"type":"input_text","text":"what is it?"}]}}`,
		`{"timestamp":"2026-02-01T08:00:02.000Z","type":"event_msg","payload":{"type":"user_message","message":"what is it?","images":[],"local_images":["/w/a.png"]}}`,
	), formattest.Seen{})
	n := 0
	for _, it := range items {
		if it.Entry.Kind == record.KindMessage {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d messages, want 1: %+v", n, items)
	}
}
