package repair_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/store/audit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// If a folder or a link is in the place of a file, a repair moves it away, and mends the rest as if the file were missing.
func TestNoPlainFile(t *testing.T) {
	folder := func(path string) error { return os.Mkdir(path, 0o700) }
	link := func(path string) error { return os.Symlink(t.TempDir(), path) }
	for name, c := range map[string]struct {
		file string
		put  func(path string) error
		lost []int64
	}{
		"open, folder": {openPhase + "messages.jsonl", folder, []int64{12, 13}},
		"open, link":   {openPhase + "messages.jsonl", link, []int64{12, 13}},
		"closed":       {closedPhase + "messages.jsonl", folder, nil},
		"anchor":       {openPhase + "anchor.json", folder, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDamaged(t)
			before := storetest.Entries(t, d.Tape, repo.Query{})
			storetest.Remove(t, d.file(c.file))
			storetest.Must(t, c.put(d.file(c.file)))
			report, err := d.Verify(t.Context())
			storetest.Must(t, err)
			if says := func(p audit.Problem) bool { return strings.HasSuffix(p.File, c.file) }; report.OK || !slices.ContainsFunc(report.Problems, says) {
				t.Errorf("verify does not name %s: %v", c.file, report.Problems)
			}
			mended, err := d.Repair(t.Context())
			if err != nil || len(mended) != 1 || mended[0].Err != nil || mended[0].Kept == "" {
				t.Fatalf("repair: %v, %v", mended, err)
			}
			if _, err := os.Lstat(filepath.Join(mended[0].Kept, c.file)); err != nil {
				t.Errorf("what was there is gone: %v", err)
			}
			var lost []int64
			for i, e := range storetest.Entries(t, d.Tape, repo.Query{}) {
				if string(e.Raw) != string(before[i].Raw) {
					lost = append(lost, e.ID)
				}
			}
			if !slices.Equal(lost, c.lost) {
				t.Errorf("lost entries %v, want %v", lost, c.lost)
			}
			storetest.Healthy(t, d.Dir())
		})
	}
}

// A damaged git index loses no entries. Verify says what to do, and the next write makes a new index.
func TestDamagedIndex(t *testing.T) {
	d := newDamaged(t)
	storetest.WriteFile(t, d.file(".git/index"), []byte("what?"))
	report, err := d.Verify(t.Context())
	storetest.Must(t, err)
	if report.OK || !strings.Contains(report.Problems[0].Fix, "tape verify --repair makes git's index") {
		t.Errorf("verify does not report git's index: %+v", report.Problems)
	}
	storetest.Remove(t, d.file(".git/index"))
	storetest.Append(t, d.Tape, repo.Message("user", "more"))
	storetest.Healthy(t, d.Dir())
	if _, err := os.Stat(d.file(".git/index")); err != nil {
		t.Error(err)
	}
}
