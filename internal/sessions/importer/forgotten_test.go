package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
)

const forgettable = `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s-1","cwd":"/x","version":"2.0","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"one"}}` + "\n"

// A session that was forgotten is left out, whatever its tape would be called, even if it is forgotten after its file
// was read and before its tape is written. The other files are imported.
func TestForgottenSessionsAreLeftOut(t *testing.T) {
	s := testStore(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "s-1.jsonl")
	if err := os.WriteFile(file, []byte(forgettable), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []Result
	b := NewBatch(s, "1.0", OpenFile, func(r Result, err error) error {
		told = append(told, r)
		return err
	})
	defer b.Close()
	if err := b.File(t.Context(), file, Options{Format: Auto}); err != nil {
		t.Fatal(err)
	}
	if err := b.File(t.Context(), file, Options{Format: Auto, Tape: "other"}); err != nil {
		t.Fatal(err)
	}
	if err := projects.AddForgotten(t.Context(), (*workspace.Store)(s), "s-1"); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || !told[0].Forgotten || told[1].Forgotten || told[1].Imported == 0 {
		t.Errorf("the results are %+v, want the first forgotten, and the second imported", told)
	}
	for _, o := range []Options{{}, {Tape: "third"}} {
		if res := mustImport(t, s, file, o); !res.Forgotten || res.Imported > 0 {
			t.Errorf("a later import: %+v, want it forgotten", res)
		}
	}
	// A subagent's session can be forgotten while its parent stays.
	agent := filepath.Join(dir, "agent-y.jsonl")
	if err := os.WriteFile(agent, []byte(strings.ReplaceAll(strings.ReplaceAll(forgettable, `"s-1"`, `"s-2","agentId":"y"`), `"uuid"`, `"isSidechain":true,"uuid"`)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := projects.AddForgotten(t.Context(), (*workspace.Store)(s), layout.TapeSlug("s-2/agent-y")); err != nil {
		t.Fatal(err)
	}
	if res := mustImport(t, s, agent, Options{}); !res.Forgotten || res.Tape != "s-2/agent-y" {
		t.Errorf("a subagent's session: %+v, want it forgotten", res)
	}
	res, err := Continue(t.Context(), s, file, Live{Formats: All(), Version: "1.0"})
	if err != nil || !res.Forgotten {
		t.Errorf("recorded live: %+v, %v; want it forgotten", res, err)
	}
	if _, err := s.CreateTape(t.Context(), "s-1"); err == nil {
		t.Error("a tape with the forgotten name was created")
	}
	if err := projects.Unforget(t.Context(), (*workspace.Store)(s), "s-1"); err != nil {
		t.Fatal(err)
	}
	if res := mustImport(t, s, file, Options{}); res.Imported == 0 {
		t.Errorf("after Unforget, an import adds nothing: %+v", res)
	}
	if _, err := s.Tape(t.Context(), "s-1"); err != nil {
		t.Error(err)
	}
}
