package formattest

import "testing"

// TestNoFixtures: a test is skipped where the project is not above it.
func TestNoFixtures(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Run("needs transcripts", func(t *testing.T) {
		defer func() {
			if !t.Skipped() {
				t.Error("the test is not skipped")
			}
		}()
		Fixture(t, "pi")
	})
}
