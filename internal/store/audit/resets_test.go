package audit_test

//tape:race: a tape starts over while it is verified

import (
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
	"time"
)

// TestSoakVerifyBesideResets resets a tape while it is verified.
func TestSoakVerifyBesideResets(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	rounds := 0
	stop := storetest.Background(func() error {
		testkit.Pause(20 * time.Millisecond)
		if rounds++; rounds > 100 { // each leaves objects that git has to check
			return nil
		}
		_, err := m.Append(t.Context(), nil, repo.Message("user", "one"))
		if err == nil {
			_, err = m.Handoff(t.Context(), repo.Anchor{Name: "second"})
		}
		if err == nil {
			_, err = m.Reset(t.Context(), false)
		}
		return err
	})
	for range testkit.Size(15, 30) {
		report, err := s.Verify(t.Context())
		storetest.Must(t, err)
		if !report.OK {
			t.Errorf("problems: %v", report.Problems)
		}
	}
	storetest.Must(t, stop())
}
