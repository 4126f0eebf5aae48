package cli

import (
	"strings"
	"testing"

	"tape/hooks/githooks"
)

func TestOutsideLines(t *testing.T) {
	if got := outsideLines(githooks.Report{Dir: "x"}); got != nil {
		t.Errorf("for hooks of the workspace: %q, want none", got)
	}
	if got := outsideLines(githooks.Report{Outside: true}); len(got) != 1 || !strings.Contains(got[0], "runs no hooks") {
		t.Errorf("without a folder: %q", got)
	}
	got := outsideLines(githooks.Report{Outside: true, Dir: "x", Lines: []githooks.Line{{Hook: "pre-commit", Line: "a"}, {Hook: "post-checkout", Line: "b"}}})
	if len(got) != 4 || strings.Index(got[2], "a") != strings.Index(got[3], "b") && !strings.HasSuffix(got[3], " b") {
		t.Errorf("for another folder: %q, want two lines of text and two aligned lines of hooks", got)
	}
}
