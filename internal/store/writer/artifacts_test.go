package writer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/store/join"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

func TestArtifactIsCommittedWithItsPhase(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	a := storetest.AddArtifact(t, tp, "log.txt", "all of the log\n")
	again := storetest.AddArtifact(t, tp, "log.txt", "all of the log\n")
	if a != again {
		t.Errorf("adding the same content twice gives %+v and %+v", a, again)
	}
	storetest.Append(t, tp, storetest.ReferTo("look", a))
	storetest.WantArtifact(t, tp, a, "all of the log\n")
	storetest.Handoff(t, tp, "next")
	storetest.WantArtifact(t, tp, a, "all of the log\n")
	file := "anchors/001_session-start/artifacts/" + a.SHA256
	if out, err := exec.Command("git", "-C", s.Dir(), "show", "HEAD:"+file).Output(); err != nil || string(out) != "all of the log\n" {
		t.Errorf("git show HEAD:%s: %q, %v", file, out, err)
	}
	if out, err := exec.Command("git", "-C", s.Dir(), "status", "--porcelain").Output(); err != nil || len(out) > 0 {
		t.Errorf("git status after the handoff: %q, %v", out, err)
	}
	if out, _ := exec.Command("git", "-C", s.Dir(), "log", "-1", "--format=%(trailers:key=Tape-Format,valueonly)").Output(); strings.TrimSpace(string(out)) != "2" {
		t.Errorf("Tape-Format of a tree with artifacts is %q, want 2", out)
	}
	// A later phase that refers to the artifact gets it, too.
	storetest.Append(t, tp, storetest.ReferTo("again", a))
	if _, err := os.Stat(filepath.Join(s.Dir(), "anchors/002_next/artifacts", a.SHA256)); err != nil {
		t.Error(err)
	}
	storetest.Handoff(t, tp, "last")
	list, err := tp.Artifacts(t.Context())
	if err != nil || len(list) != 1 || list[0].AnchorSeq != 2 || len(list[0].Entries) != 2 {
		t.Errorf("the artifacts are %+v, %v; want one in phase 2 with two entries", list, err)
	}
}

func TestArtifactThatNobodyRefersToIsKept(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	a := storetest.AddArtifact(t, tp, "", "nobody asks for me")
	storetest.Append(t, tp, repo.Message("user", "hello"))
	storetest.Handoff(t, tp, "next")
	storetest.WantArtifact(t, tp, repo.Artifact{ID: a.ID, SHA256: a.ID, Size: a.Size}, "nobody asks for me")
}

func TestReferencesAreChecked(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	a := storetest.AddArtifact(t, tp, "x", "here")
	missing, short, upper := a, a, a
	missing.ID = strings.Repeat("0", 64)
	missing.SHA256 = missing.ID
	short.Size--
	upper.SHA256 = strings.ToUpper(a.SHA256)
	for what, bad := range map[string]repo.Artifact{"missing": missing, "of another size": short, "in upper case": upper} {
		d := storetest.ReferTo("look", bad)
		if _, err := tp.Append(t.Context(), nil, d); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("a reference to an artifact %s: want ErrInvalid, got %v", what, err)
		}
		if _, err := tp.Append(t.Context(), nil, repo.Message("user", "x"), d); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("a batch that refers to an artifact %s: want ErrInvalid, got %v", what, err)
		}
		line := fmt.Appendf(nil, `{"kind":%q,"payload":%s}`, d.Kind, d.Payload)
		if _, err := tp.Update(t.Context(), func(tx *repo.Tx) error { return tx.AppendLine(t.Context(), line) }); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("a line that refers to an artifact %s: want ErrInvalid, got %v", what, err)
		}
	}
	// A value of another form under the key "artifact" is not a reference.
	storetest.Append(t, tp, repo.Event("build", []byte(`{"artifact":{"path":"a.out"}}`)), repo.Event("build", []byte(`{"artifact":"a.out"}`)))
	if info, _ := tp.Info(t.Context()); info.Entries != 3 {
		t.Errorf("the tape has %d entries, want 3", info.Entries)
	}
}

func TestArtifactIsBounded(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	_, err := tp.AddArtifact(t.Context(), repo.Artifact{}, io.LimitReader(zeros{}, repo.ArtifactLimit+1))
	if !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("an artifact over the limit: want ErrInvalid, got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), ".git/tape/tmp/*")); len(left) > 0 {
		t.Errorf("the refused artifact has left %v", left)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestArtifactsInForks(t *testing.T) {
	s := storetest.New(t, nil)
	main := storetest.Tape(t, s, "main")
	before := storetest.AddArtifact(t, main, "before", "before the fork")
	storetest.Append(t, main, storetest.ReferTo("one", before))
	f, err := main.Fork(t.Context(), "try")
	storetest.Must(t, err)
	storetest.WantArtifact(t, f, before, "before the fork")
	own := storetest.AddArtifact(t, f, "own", "of the fork")
	storetest.Append(t, f, storetest.ReferTo("two", own, before))
	storetest.Handoff(t, f, "in the fork")
	late := storetest.AddArtifact(t, f, "late", "of its second phase")
	storetest.Append(t, f, storetest.ReferTo("three", late))
	if _, err := main.Artifact(t.Context(), own.ID); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("the parent has the fork's artifact: %v", err)
	}
	storetest.Checkpoint(t, f)
	storetest.WantArtifact(t, f, late, "of its second phase")
	storetest.Healthy(t, s.Dir())
}

// The phase that both sides continue has artifacts, and gets more.
func TestForkOfPhaseWithArtifacts(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.AppendArtifact(t, tp, "before")
	f := storetest.Fork(t, tp, "try", "")
	storetest.AppendArtifact(t, f, "in the fork")
	storetest.AppendArtifact(t, tp, "in the tape")
	storetest.Merge(t, f, join.Options{})
	for _, content := range []string{"before", "in the fork", "in the tape"} {
		storetest.WantArtifact(t, tp, storetest.ArtifactNamed("late", content), content)
	}
	storetest.Healthy(t, s.Dir())
}

func TestArtifactByTheBeginningOfItsID(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	a := storetest.AddArtifact(t, tp, "x", "content")
	storetest.Append(t, tp, storetest.ReferTo("look", a))
	got, r, err := tp.OpenArtifact(t.Context(), a.ID[:8])
	if err != nil || got.Artifact != a {
		t.Fatalf("OpenArtifact(%q) returns %+v, %v; want %+v", a.ID[:8], got, err, a)
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := r.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&b, r); err != nil || b.String() != "tent" {
		t.Errorf("the content after Seek(3) is %q, %v; want \"tent\"", b.String(), err)
	}
}
