package review_test

import (
	"testing"

	"tape/internal/git/projectgit"
	"tape/internal/sessions/review"
	"tape/internal/sessions/trace"
)

// A commit that only removes lines has none that an edit could have: https://github.com/entireio/cli/pull/814
func TestEvidenceOfRemoval(t *testing.T) {
	s := trace.Share{Turn: trace.Turn{How: trace.LastEdit}, Files: []string{"a.go"}}
	for added, want := range map[int]string{0: "edited 1 file last; the commit adds no line", 2: "edited 1 file last; no edit has these lines"} {
		if got := review.Evidence(s, trace.Credit{Patch: projectgit.Patch{}, Added: added}); got != want {
			t.Errorf("with %d lines added: %q, want %q", added, got, want)
		}
	}
}
