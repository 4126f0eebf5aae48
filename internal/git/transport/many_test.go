package transport

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tape/internal/git/gitstore"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

// TestTransportManyRefs pushes and fetches many branches, each with ten tags.
func TestTransportManyRefs(t *testing.T) {
	branches := testkit.Size(8, 5000)
	dir := gitjudge.Bare(t)
	peer := remotePeer{Transport: "path", Dir: dir, URL: dir}
	a, b := newSide(t, peer), newSide(t, peer)
	commits := growing(t, a.r, gitstore.ZeroHash, 50, "x")
	batch := a.r.NewBatch()
	var groups [][]PushRef
	for i := range branches {
		name := fmt.Sprintf("tape-number-%d", i)
		group := []PushRef{branch("tape/"+name, commits[i%50])}
		for k := range 10 {
			tagName := fmt.Sprintf("anchor/%s/%03d_phase", name, k)
			object := batch.Put(gitstore.KindTag, gitstore.EncodeTag(gitstore.Tag{Object: commits[i%50], Name: tagName, Tagger: gitjudge.Ann, Message: "x\n"}))
			group = append(group, tag(tagName, object))
		}
		groups = append(groups, group)
	}
	a.OK(batch.Flush(context.Background()))
	a.Git("config", "gc.auto", "0")
	step := func(what string, fn func()) {
		start := time.Now()
		fn()
		t.Logf("%s: %.2fs", what, time.Since(start).Seconds())
	}
	if testkit.Soak() {
		var updates []gitstore.RefUpdate
		for _, g := range groups {
			for _, ref := range g {
				updates = append(updates, gitstore.RefUpdate{Name: ref.Name, New: ref.New, Message: "x"})
			}
		}
		step("local refs", func() { a.OK(a.r.UpdateRefs(context.Background(), updates)) })
		step("git gc", func() { a.Git("gc", "-q") })
		a.r.Refresh()
	}
	step("push", func() {
		if got := strings.Count(a.push(groups...), "new"); got != branches*11 {
			t.Errorf("%d of %d refs are new there", got, branches*11)
		}
	})
	step("push again", func() { a.push(groups...) })
	step("fetch", func() {
		if f := b.fetch(); len(f) != branches*11 {
			t.Errorf("%d of %d refs came", len(f), branches*11)
		}
	})
	step("fetch nothing", func() { b.fetch() })
	next := growing(t, a.r, commits[49], 2, "next")
	step("push one", func() { a.push([]PushRef{branch("tape/tape-number-49", next[1])}) })
	step("fetch one", func() {
		if f := b.fetch(); len(f) != 1 {
			t.Errorf("%v came, want one ref", f)
		}
	})
	step("plain git fetch nothing", func() {
		b.Git("fetch", "-q", "--no-tags", "origin", "+refs/heads/*:refs/tape/remotes/origin/heads/*", "+refs/tags/*:refs/tape/remotes/origin/tags/*")
	})
	b.sound()
}
