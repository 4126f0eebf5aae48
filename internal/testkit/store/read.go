package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"tape/internal/store/snapshot"
	"tape/internal/text/jsonl"
	"tape/repo"
	"testing"
)

// Collect runs a query.
func Collect(ctx context.Context, tp *repo.Tape, q repo.Query) ([]repo.Entry, error) {
	var out []repo.Entry
	for e, err := range tp.Entries(ctx, q) {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Entries runs a query that has to work.
func Entries(t testing.TB, tp *repo.Tape, q repo.Query) []repo.Entry {
	t.Helper()
	out, err := Collect(t.Context(), tp, q)
	Must(t, err)
	return out
}

// Lines are the stored lines of entries.
func Lines(entries []repo.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = string(e.Raw)
	}
	return out
}

// IDs are the ids of entries.
func IDs(entries []repo.Entry) []int64 {
	out := make([]int64, len(entries))
	for i, e := range entries {
		out[i] = e.ID
	}
	return out
}

// Picture is everything that readers see of a workspace, as text.
func Picture(t testing.TB, s *repo.Store) string {
	t.Helper()
	var b bytes.Buffer
	tapes, err := s.Tapes(t.Context())
	Must(t, err)
	for _, tp := range tapes {
		fmt.Fprintf(&b, "tape %s\n", tp.Name())
		for _, e := range Entries(t, tp, repo.Query{}) {
			fmt.Fprintf(&b, "%s in %d %s\n", e.Raw, e.AnchorSeq, e.Anchor)
		}
		artifacts, err := tp.Artifacts(t.Context())
		Must(t, err)
		for _, a := range artifacts {
			if len(a.Entries) > 0 {
				fmt.Fprintf(&b, "artifact %s of %v\n", a.ID, a.Entries)
			}
		}
		phases, err := tp.Phases(t.Context())
		Must(t, err)
		for _, p := range phases {
			fmt.Fprintf(&b, "phase %d %s %s %d-%d\n", p.Seq, p.Name, p.Folder, p.FirstID, p.LastID)
		}
	}
	return b.String()
}

// History is what git has of a workspace: every ref with the object that it names.
func History(t testing.TB, dir string) string {
	t.Helper()
	refs, err := Inner(Reopen(t, dir)).Git().Refs("refs/")
	Must(t, err)
	var b strings.Builder
	for _, ref := range refs {
		fmt.Fprintf(&b, "%s %s\n", ref.Name, ref.Hash)
	}
	return b.String()
}

// TapesAndForks are all tapes and open forks of a workspace.
func TapesAndForks(t testing.TB, s *repo.Store) []*repo.Tape {
	t.Helper()
	tapes, err1 := s.Tapes(t.Context())
	forks, err2 := s.Forks(t.Context())
	Must(t, errors.Join(err1, err2))
	return append(tapes, forks...)
}

// Said are the contents of a tape's messages, and the names of its anchors in brackets.
func Said(t *testing.T, tp *repo.Tape) (out []string) {
	t.Helper()
	for _, e := range Entries(t, tp, repo.Query{}) {
		switch e.Kind {
		case repo.KindMessage:
			out = append(out, jsonl.GetString(e.Payload, "content"))
		case repo.KindAnchor:
			out = append(out, "["+jsonl.GetString(e.Payload, "name")+"]")
		}
	}
	return out
}

// AllLines are the lines of all tapes, open forks and archives.
func AllLines(t *testing.T, s *repo.Store) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, tp := range TapesAndForks(t, s) {
		out[tp.Name()] = Lines(Entries(t, tp, repo.Query{}))
		archives, err := tp.Archives(t.Context())
		Must(t, err)
		for _, a := range archives {
			v, err := snapshot.AtCommit(Inner(s), Hash(t, a.Commit))
			Must(t, err)
			for e, err := range v.After(t.Context(), nil, "") {
				Must(t, err)
				out[a.Ref] = append(out[a.Ref], string(e.Raw))
			}
		}
	}
	return out
}
