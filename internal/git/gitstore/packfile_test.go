package gitstore

//tape:race: goroutines add to one pack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/git/gitobject"
	"tape/internal/testkit/gitjudge"
)

// Git accepts a pack that several goroutines wrote.
func TestPackIsGits(t *testing.T) {
	j := gitjudge.New(t)
	dir := filepath.Join(j.GitDir, "objects", "pack")
	var none *disk.FS
	file, err := none.OpenFile(filepath.Join(dir, "new.pack"), os.O_CREATE|os.O_RDWR, 0o600)
	j.OK(err)
	p := newPackFile(file)
	want := map[gitobject.Hash][]byte{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for _, size := range []int{0, 1, 15, 16, 2047, 2048, 200_000} {
				data := bytes.Repeat(fmt.Append(nil, worker), size)
				h := gitobject.HashObject(gitobject.KindBlob, data)
				mu.Lock()
				known := want[h] != nil
				want[h] = append([]byte{}, data...)
				mu.Unlock()
				if known {
					continue // a pack holds each object once
				}
				if err := p.Add(h, gitobject.KindBlob, data); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	name, index, err := p.Finish()
	j.OK(err)
	j.OK(file.Close())
	j.OK(os.Rename(filepath.Join(dir, "new.pack"), filepath.Join(dir, name+".pack")))
	j.OK(os.WriteFile(filepath.Join(dir, name+".idx"), index, 0o600))
	j.Git("verify-pack", filepath.Join(dir, name+".idx"))
	j.Fsck()
	for h, data := range want {
		if out, err := gitjudge.GitStdin(j, "", "cat-file", "blob", h.String()); err != nil || out != string(data) {
			t.Errorf("git reads %d of %d bytes, %v", len(out), len(data), err)
		}
	}
}
