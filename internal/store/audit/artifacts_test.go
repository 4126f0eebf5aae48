package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"tape/internal/store/layout"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

func TestVerifyFindsDamagedArtifacts(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, []byte("other"), 0o600) },
		"removed": os.Remove,
	} {
		for _, commit := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s committed=%v", what, commit), func(t *testing.T) {
				s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
				storetest.Must(t, err)
				tp := storetest.Tape(t, s, "main")
				a := storetest.AddArtifact(t, tp, "x", "whole")
				storetest.Append(t, tp, storetest.ReferTo("look", a))
				if commit {
					storetest.Handoff(t, tp, "next")
				}
				storetest.Must(t, damage(filepath.Join(s.Dir(), "anchors/001_session-start", layout.ArtifactsDir, a.SHA256)))
				report, err := s.Verify(t.Context())
				if err != nil || report.OK {
					t.Errorf("verify does not report the artifact: %+v, %v", report, err)
				}
			})
		}
	}
}
