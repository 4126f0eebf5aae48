package repo

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"tape/internal/store/join"
	"testing"

	"tape/internal/store/layout"
	"tape/internal/store/purge"
)

// addArtifact adds a content, and returns what refers to it.
func addArtifact(t testing.TB, tp *Tape, name, content string) Artifact {
	t.Helper()
	a, err := tp.AddArtifact(t.Context(), Artifact{MIMEType: "text/plain", Name: name}, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// referTo is an entry that refers to artifacts.
func referTo(text string, refs ...Artifact) Draft {
	parts := fmt.Appendf(nil, `{"role":"user","content":[{"type":"text","text":%q}`, text)
	for _, a := range refs {
		parts = append(append(append(parts, `,{"type":"file","artifact":`...), a.Reference()...), '}')
	}
	return Draft{Kind: KindMessage, Payload: append(parts, "]}"...)}
}

// wantArtifact fails the test unless a tape has a content.
func wantArtifact(t testing.TB, tp *Tape, a Artifact, content string) {
	t.Helper()
	got, r, err := tp.OpenArtifact(t.Context(), a.ID)
	if err != nil {
		t.Errorf("%s: %v", tp.Name(), err)
		return
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil || string(data) != content {
		t.Errorf("%s: artifact %.12s has %.40q, want %.40q (%v)", tp.Name(), a.ID, data, content, err)
	}
	if got.Artifact != a {
		t.Errorf("%s: the artifact is %+v, want %+v", tp.Name(), got, a)
	}
}

// artifactNamed is what AddArtifact gives for a content.
func artifactNamed(name, content string) Artifact {
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	return Artifact{ID: id, MIMEType: "text/plain", Name: name, Size: int64(len(content)), SHA256: id}
}

const lateContent = "what is in the file"

// withArtifact makes a tape with an artifact that is not committed.
func withArtifact(t *testing.T, s *Store) {
	someEntries(t, s)
	addsArtifact(t, openTape(t, s, "main"), lateContent)
}

func addsArtifact(t *testing.T, tp *Tape, content string) {
	mustAppend(t, tp, referTo("see", addArtifact(t, tp, "late", content)))
}

func TestArtifactIsCommittedWithItsPhase(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	a := addArtifact(t, tp, "log.txt", "all of the log\n")
	again := addArtifact(t, tp, "log.txt", "all of the log\n")
	if a != again {
		t.Errorf("the same content is %+v and %+v", a, again)
	}
	mustAppend(t, tp, referTo("look", a))
	wantArtifact(t, tp, a, "all of the log\n")
	mustHandoff(t, tp, "next")
	wantArtifact(t, tp, a, "all of the log\n")
	file := "anchors/001_session-start/artifacts/" + a.SHA256
	if out, err := exec.Command("git", "-C", s.Dir(), "show", "HEAD:"+file).Output(); err != nil || string(out) != "all of the log\n" {
		t.Errorf("git show HEAD:%s: %q, %v", file, out, err)
	}
	if out, err := exec.Command("git", "-C", s.Dir(), "status", "--porcelain").Output(); err != nil || len(out) > 0 {
		t.Errorf("git status after the handoff: %q, %v", out, err)
	}
	if out, _ := exec.Command("git", "-C", s.Dir(), "log", "-1", "--format=%(trailers:key=Tape-Format,valueonly)").Output(); strings.TrimSpace(string(out)) != "2" {
		t.Errorf("Tape-Format of a tree with artifacts: %q", out)
	}
	// What refers to it in a later phase has it there, too.
	mustAppend(t, tp, referTo("once more", a))
	if _, err := os.Stat(filepath.Join(s.Dir(), "anchors/002_next/artifacts", a.SHA256)); err != nil {
		t.Error(err)
	}
	mustHandoff(t, tp, "last")
	list, err := tp.Artifacts(t.Context())
	if err != nil || len(list) != 1 || list[0].AnchorSeq != 2 || len(list[0].Entries) != 2 {
		t.Errorf("the artifacts are %+v, %v", list, err)
	}
}

func TestArtifactThatNobodyRefersToIsKept(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	a := addArtifact(t, tp, "", "nobody asks for me")
	mustAppend(t, tp, Message("user", "hello"))
	mustHandoff(t, tp, "next")
	wantArtifact(t, tp, Artifact{ID: a.ID, SHA256: a.ID, Size: a.Size}, "nobody asks for me")
}

func TestReferencesAreChecked(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	a := addArtifact(t, tp, "x", "here")
	missing, short, upper := a, a, a
	missing.ID = strings.Repeat("0", 64)
	missing.SHA256 = missing.ID
	short.Size--
	upper.SHA256 = strings.ToUpper(a.SHA256)
	for what, bad := range map[string]Artifact{"missing": missing, "of another size": short, "in upper case": upper} {
		d := referTo("look", bad)
		if _, err := tp.Append(t.Context(), nil, d); !errors.Is(err, ErrInvalid) {
			t.Errorf("a reference to an artifact %s: %v", what, err)
		}
		if _, err := tp.Append(t.Context(), nil, Message("user", "x"), d); !errors.Is(err, ErrInvalid) {
			t.Errorf("a batch that refers to an artifact %s: %v", what, err)
		}
		line := fmt.Appendf(nil, `{"kind":%q,"payload":%s}`, d.Kind, d.Payload)
		if _, err := tp.Update(t.Context(), func(tx *Tx) error { return tx.AppendLine(t.Context(), line) }); !errors.Is(err, ErrInvalid) {
			t.Errorf("a line that refers to an artifact %s: %v", what, err)
		}
	}
	// An object of that name that is no reference is anybody's.
	mustAppend(t, tp, Event("build", []byte(`{"artifact":{"path":"a.out"}}`)), Event("build", []byte(`{"artifact":"a.out"}`)))
	if info, _ := tp.Info(t.Context()); info.Entries != 3 {
		t.Errorf("the tape has %d entries, want 3", info.Entries)
	}
}

func TestArtifactIsBounded(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	_, err := tp.AddArtifact(t.Context(), Artifact{}, io.LimitReader(zeros{}, ArtifactLimit+1))
	if !errors.Is(err, ErrInvalid) {
		t.Errorf("an artifact that is too long: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.Dir(), ".git/tape/tmp/*")); len(left) > 0 {
		t.Errorf("it has left %v", left)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestArtifactsInForks(t *testing.T) {
	s := testStore(t, nil)
	main := openTape(t, s, "main")
	before := addArtifact(t, main, "before", "before the fork")
	mustAppend(t, main, referTo("one", before))
	f, err := main.Fork(t.Context(), "try")
	if err != nil {
		t.Fatal(err)
	}
	wantArtifact(t, f, before, "before the fork")
	own := addArtifact(t, f, "own", "of the fork")
	mustAppend(t, f, referTo("two", own, before))
	mustHandoff(t, f, "in the fork")
	late := addArtifact(t, f, "late", "of its second phase")
	mustAppend(t, f, referTo("three", late))
	if _, err := main.Artifact(t.Context(), own.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("the parent has the fork's artifact: %v", err)
	}
	mustCheckpoint(t, f)
	wantArtifact(t, f, late, "of its second phase")
	verified(t, s.Dir())
}

// TestForkOfPhaseWithArtifacts: the phase that both sides go on with has artifacts, and gets more.
func TestForkOfPhaseWithArtifacts(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	addsArtifact(t, tp, "before")
	f := mustFork(t, tp, "try", "")
	addsArtifact(t, f, "in the fork")
	addsArtifact(t, tp, "in the tape")
	mustMerge(t, f, join.Options{})
	for _, content := range []string{"before", "in the fork", "in the tape"} {
		wantArtifact(t, tp, artifactNamed("late", content), content)
	}
	verified(t, s.Dir())
}

func TestVerifyFindsDamagedArtifacts(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, []byte("other"), 0o600) },
		"removed": os.Remove,
	} {
		for _, commit := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s committed=%v", what, commit), func(t *testing.T) {
				s, _, err := Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
				if err != nil {
					t.Fatal(err)
				}
				tp := openTape(t, s, "main")
				a := addArtifact(t, tp, "x", "whole")
				mustAppend(t, tp, referTo("look", a))
				if commit {
					mustHandoff(t, tp, "next")
				}
				if err := damage(filepath.Join(s.Dir(), "anchors/001_session-start", layout.ArtifactsDir, a.SHA256)); err != nil {
					t.Fatal(err)
				}
				report, err := s.Verify(t.Context())
				if err != nil || report.OK {
					t.Errorf("verify finds nothing: %v", err)
				}
			})
		}
	}
}

func TestArtifactByTheBeginningOfItsID(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	a := addArtifact(t, tp, "x", "content")
	mustAppend(t, tp, referTo("look", a))
	got, r, err := tp.OpenArtifact(t.Context(), a.ID[:8])
	if err != nil || got.Artifact != a {
		t.Fatalf("%+v, %v", got, err)
	}
	defer r.Close()
	var b bytes.Buffer
	if _, err := r.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(&b, r); err != nil || b.String() != "tent" {
		t.Errorf("from 3 on: %q, %v", b.String(), err)
	}
}

func TestPurgeReachesArtifacts(t *testing.T) {
	const token = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	kept := addArtifact(t, tp, "kept", "nothing to hide")
	a := addArtifact(t, tp, "log", "token "+token+" end\n")
	mustAppend(t, tp, referTo("look", a, kept), Message("user", "it is "+token))
	mustHandoff(t, tp, "next")
	late := addArtifact(t, tp, "late", "and again "+token)
	mustAppend(t, tp, referTo("here", late))
	if _, err := tp.Purge(t.Context(), PurgeOptions{Rules: []string{purge.AllRules}}); err != nil {
		t.Fatal(err)
	}
	wantNowhere(t, s.Dir(), token)
	wantArtifact(t, tp, kept, "nothing to hide")
	list, err := tp.Artifacts(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, x := range list {
		if len(x.Entries) != 1 {
			t.Errorf("%s is referred to by %v", x.Name, x.Entries)
		}
	}
}

func TestPurgeWholeTakesTheArtifact(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	a := addArtifact(t, tp, "diary", "what nobody else should read")
	mustAppend(t, tp, referTo("look", a))
	mustHandoff(t, tp, "next")
	if _, err := tp.Purge(t.Context(), PurgeOptions{IDs: []int64{2}, Whole: true}); err != nil {
		t.Fatal(err)
	}
	wantNowhere(t, s.Dir(), "what nobody else should read")
	list, err := tp.Artifacts(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "[redacted]" {
		t.Errorf("%+v, %v", list, err)
	}
}
