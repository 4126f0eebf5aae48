package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// sessionOnTape returns a tape that was imported from a file, and that a person then wrote to.
func sessionOnTape(t *testing.T, s *repo.Store, dir string) (tape *repo.Tape, path string) {
	t.Helper()
	path = filepath.Join(dir, "s.jsonl")
	storetest.Must(t, os.WriteFile(path, lines(resumed...), 0o644))
	mustImport(t, s, path, Options{})
	tape, err := s.Tape(t.Context(), "s-1")
	storetest.Must(t, err)
	_, err = tape.Handoff(t.Context(), repo.Anchor{Name: "a title of a former version"})
	storetest.Must(t, err)
	_, err = tape.Append(t.Context(), nil, repo.Message("user", "a note"), repo.Event(about.TitleEvent, []byte(`{"title":"Mine"}`)))
	storetest.Must(t, err)
	return tape, path
}

// TestAgain: a tape that is imported again has the entries of its transcript and the title that a person gave
// it. Its former history is archived.
func TestAgain(t *testing.T) {
	s, fresh := testStore(t), testStore(t)
	tape, path := sessionOnTape(t, s, t.TempDir())
	former := tapeLines(t, s, "s-1")
	if got := Transcript(s, "s-1"); got != path {
		t.Errorf("the transcript is %q, want %q", got, path)
	}
	res, err := Again(t.Context(), s, tape, path, "1.0", Options{})
	storetest.Must(t, err)
	mustImport(t, fresh, path, Options{})
	want := tapeLines(t, fresh, "s-1")
	got := tapeLines(t, s, "s-1")
	if len(got) != len(want)+1 || !slices.Equal(got[:len(want)], want) || aboutTape(t, s, "s-1").Title != "Mine" {
		t.Errorf("the tape has %s, want %s and the title Mine", strings.Join(got, ""), strings.Join(want, ""))
	}
	if res.Own != 2 || res.Imported != len(want)-1 {
		t.Errorf("the result is %+v, want 2 own entries and %d imported", res, len(want)-1)
	}
	if res = mustImport(t, s, path, Options{}); res.Imported != 0 {
		t.Errorf("another import adds %d entries", res.Imported)
	}
	_, _, err = tape.Restore(t.Context(), repo.Latest)
	storetest.Must(t, err)
	if got := tapeLines(t, s, "s-1"); !slices.Equal(got, former) {
		t.Errorf("after Restore the tape has %s, want %s", strings.Join(got, ""), strings.Join(former, ""))
	}
}

// TestAgainMends: a tape on which a former version took what a program wrote for a prompt has only prompts after it was
// imported again. The former version is the same transcript without the mark.
func TestAgainMends(t *testing.T) {
	claude := userLn("u1", "", `"add retries"`) + "\n" + strings.Replace(userLn("u2", "u1", `"This session is being continued"`), `{"`, `{"isVisibleInTranscriptOnly":true,"`, 1)
	const stream = `{"type":"system","subtype":"init","cwd":"/w","session_id":"s-1","uuid":"1"}
{"type":"user","message":{"role":"user","content":"add retries"},"parent_tool_use_id":null,"session_id":"s-1","uuid":"2"}
{"isSynthetic":true,"type":"user","message":{"role":"user","content":"This session is being continued"},"parent_tool_use_id":null,"session_id":"s-1","uuid":"3"}`
	const qwen = `{"uuid":"a","parentUuid":null,"sessionId":"s-1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","cwd":"/w","message":{"role":"user","parts":[{"text":"add retries"}]}}
{"subtype":"notification","uuid":"b","parentUuid":"a","sessionId":"s-1","timestamp":"2026-01-01T00:00:02.000Z","type":"user","cwd":"/w","message":{"role":"user","parts":[{"text":"a job is done"}]}}`
	for mark, text := range map[string]string{`"isVisibleInTranscriptOnly":true,`: claude, `"isSynthetic":true,`: stream, `"subtype":"notification",`: qwen} {
		s, path := testStore(t), filepath.Join(t.TempDir(), "s-1.jsonl")
		prompts := func() (n int) {
			for _, line := range tapeLines(t, s, "s-1") {
				e, err := jsonl.ParseDraft([]byte(strings.TrimSpace(line)))
				storetest.Must(t, err)
				if about.IsPrompt(layout.Entry{Kind: e.Kind, Payload: e.Payload, Meta: e.Meta}) {
					n++
				}
			}
			return n
		}
		storetest.Must(t, os.WriteFile(path, []byte(strings.Replace(text, mark, "", 1)+"\n"), 0o600))
		mustImport(t, s, path, Options{})
		former := prompts()
		storetest.Must(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
		tape, err := s.Tape(t.Context(), "s-1")
		storetest.Must(t, err)
		if _, err := Again(t.Context(), s, tape, path, "1.0", Options{}); err != nil || former != 2 || prompts() != 1 {
			t.Errorf("%s: %d prompts, and %d after another import (%v), want 2 and 1", mark, former, prompts(), err)
		}
	}
}

// TestAgainBub: entries of Bub's tapes have no keys in their meta, and are still told from those that somebody added.
func TestAgainBub(t *testing.T) {
	s := testStore(t)
	path := filepath.Join(t.TempDir(), "bub.jsonl")
	var text strings.Builder
	for i := range 150 {
		fmt.Fprintf(&text, `{"id":%d,"kind":"message","payload":{"role":"user","content":"same"},"meta":{},"date":"2026-02-22T05:20:15+00:00"}`+"\n", i+1)
	}
	storetest.Must(t, os.WriteFile(path, []byte(text.String()), 0o600))
	mustImport(t, s, path, Options{Tape: "b"})
	tape, err := s.Tape(t.Context(), "b")
	storetest.Must(t, err)
	_, err = tape.Append(t.Context(), nil, repo.Message("user", "a note"), repo.Message("user", "another"))
	storetest.Must(t, err)
	if res, err := Again(t.Context(), s, tape, path, "1.0", Options{}); err != nil || res.Own != 2 || res.Imported != 150 {
		t.Errorf("the result is %+v (%v), want 2 own entries and 150 imported", res, err)
	}
}

// TestAgainRefuses: a file that is not the tape's transcript leaves the tape unchanged.
func TestAgainRefuses(t *testing.T) {
	s := testStore(t)
	tape, path := sessionOnTape(t, s, t.TempDir())
	former := tapeLines(t, s, "s-1")
	storetest.Must(t, os.WriteFile(path, lines(userLn("other", "", `"another session"`)), 0o644))
	if _, err := Again(t.Context(), s, tape, path, "1.0", Options{}); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("with another session's transcript: error %v, want ErrInvalid", err)
	}
	storetest.Must(t, os.Remove(path))
	if _, err := Again(t.Context(), s, tape, path, "1.0", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("with a missing transcript: error %v, want ErrNotExist", err)
	}
	if got := tapeLines(t, s, "s-1"); !slices.Equal(got, former) {
		t.Errorf("the tape now has %s", strings.Join(got, ""))
	}
}

// TestAgainInterrupted lets the disk fail from some operation on, as if the process were killed. The tape then
// has its former history, or the new one and an archive of the former one. Another call of Again succeeds.
func TestAgainInterrupted(t *testing.T) {
	t.Setenv("TAPE_AUTHOR", "Test <test@example.org>")
	dir, kept := filepath.Join(t.TempDir(), "ws"), filepath.Join(t.TempDir(), "kept")
	s, _, err := repo.Init(t.Context(), dir, nil)
	storetest.Must(t, err)
	_, path := sessionOnTape(t, s, t.TempDir())
	former := tapeLines(t, s, "s-1")
	storetest.CopyTree(t, dir, kept)
	again := func(s *repo.Store) error {
		tape, err := s.Tape(t.Context(), "s-1")
		if err == nil {
			_, err = Again(t.Context(), s, tape, path, "1.0", Options{})
		}
		return err
	}
	rng := testkit.Random(t)
	for n := 1 + rng.IntN(3); ; n += testkit.Size(5, 1) {
		storetest.Must(t, os.RemoveAll(dir))
		storetest.CopyTree(t, kept, dir)
		f := &storetest.Faulty{N: n, Gap: 1}
		err := again(storetest.OpenFaulty(t, dir, f))
		s := storetest.OpenFaulty(t, dir, nil)
		tape, findErr := s.Tape(t.Context(), "s-1")
		storetest.Must(t, findErr)
		archives, archiveErr := tape.Archives(t.Context())
		storetest.Must(t, archiveErr)
		got := tapeLines(t, s, "s-1")
		if isFormer := slices.Equal(got, former); !isFormer && (len(archives) != 1 || len(got) != len(former)-2) {
			t.Fatalf("operation %d: %v; the tape has %d entries, and %d archives", n, err, len(got), len(archives))
		}
		if !f.Hit() {
			storetest.Must(t, err)
			break
		}
		storetest.Must(t, again(s))
	}
	storetest.Healthy(t, dir)
}
