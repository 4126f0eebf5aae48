package main

import (
	"bufio"
	"fmt"
	"io"
)

// manyPhases is how many phases, and so tags, each of many tapes has.
const manyPhases = 10

// manyTapes makes a workspace with a great many short tapes. Git takes them in as one
// stream, as the program would have made them one after another.
func (s *setup) manyTapes() (string, error) {
	return s.kept(fmt.Sprintf("many-%d", s.tapes), func(ws string) error {
		load := command{env: s.env, argv: []string{"git", "-C", ws, "fast-import", "--quiet"}}
		load.stdin = func() io.Reader {
			r, w := io.Pipe()
			go func() { w.CloseWithError(tapeStream(w, s.tapes)) }()
			return r
		}
		if _, err := load.run(); err != nil {
			return err
		}
		_, err := command{env: s.env, argv: []string{"git", "-C", ws, "pack-refs", "--all"}}.run()
		return err
	})
}

// compareMany times what is shared of a great many tapes: all of them once, and what need not
// look at all a few times.
func (h *sharing) compareMany() error {
	const few = 5
	url := h.url("tape.git")
	everything := h.gitPush("refs/heads/tape/*:refs/heads/tape/*", "refs/tags/anchor/*:refs/tags/anchor/*")
	for _, row := range []struct {
		name  string
		runs  int
		a, b  step
		other string
	}{
		{"push", 1, h.pushed, h.pushedByGit, "git push"},
		{"push, nothing new", few, always(h.tapeIn(h.ws, "push", "--quiet")), always(everything), "git push"},
		{"push of one", few, h.pushedOne, h.pushedOneByGit, "git push"},
		{"clone", 1, h.cloned(url), h.clonedByGit(url, asTapeSyncs), "git clone, synced alike"},
		{"pull, nothing new", few, always(h.tapeIn(h.path("clone"), "pull", "--quiet")),
			always(h.git("-C", h.path("copy"), "fetch", "-q", "origin")), "git fetch"},
	} {
		pairs, err := alternate(row.runs/few, row.runs, row.a, row.b)
		if err != nil {
			return err
		}
		printPair(h.out, fmt.Sprintf("%s, %d tapes", row.name, h.tapes), pairs, row.other)
	}
	return nil
}

// pushedOne is the push of one tape of many, which has got an entry.
func (h *sharing) pushedOne(int) []command {
	return then(h.tapeIn(h.ws, "push", "--tape", "t1", "--quiet"), h.cmd(h.ws, "append", "--tape", "t1", "--text", "one more", "--quiet"))
}

// pushedOneByGit is the push of one branch of many, which has got a commit.
func (h *sharing) pushedOneByGit(int) []command {
	const commit = `git -C "$0" update-ref refs/heads/tape/t1 "$(git -C "$0" commit-tree -p tape/t1 -m more 'tape/t1^{tree}')"`
	return then(h.gitPush("refs/heads/tape/t1"), command{env: h.env, argv: []string{"sh", "-c", commit, h.plain}})
}

// tapeStream writes n tapes, called t1 and so on, for git fast-import.
func tapeStream(to io.Writer, n int) error {
	w := bufio.NewWriterSize(to, 1<<20)
	for i := range n {
		streamTape(w, fmt.Sprintf("t%d", i+1))
	}
	return w.Flush()
}

// streamTape writes a tape in which each phase but the first has a question, and ends
// with a handoff.
func streamTape(w *bufio.Writer, name string) {
	const who = "Bench <bench@example.org> 1767225600 +0000"
	const date = "2026-01-01T00:00:00.000000+00:00"
	file := func(path, content string) {
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	anchor := "session/start"
	folder, last := "001_session-start", 0
	for phase := range manyPhases {
		subject, first, before := "start: "+name, last+1, folder
		if phase > 0 {
			anchor = fmt.Sprintf("phase-%d", phase)
			folder = fmt.Sprintf("%03d_%s", phase+1, anchor)
			subject, last = "handoff: "+anchor, last+1
		}
		last++
		message := fmt.Sprintf("%s\n\nTape-Name: %s\nTape-Anchor: %s\nTape-Entries: %d-%d\nTape-Format: 1\n", subject, name, anchor, first, last)
		fmt.Fprintf(w, "commit refs/heads/tape/%s\nauthor %s\ncommitter %s\ndata %d\n%s", name, who, who, len(message), message)
		if phase == 0 {
			file("tape.json", fmt.Sprintf(`{"format":1,"name":%q,"created":%q}`+"\n", name, date))
		} else {
			file("anchors/"+before+"/messages.jsonl",
				fmt.Sprintf(`{"id":%d,"kind":"message","payload":{"role":"user","content":"what is next in %s?"},"meta":{},"date":%q}`+"\n", first, name, date))
		}
		file("anchors/"+folder+"/anchor.json",
			fmt.Sprintf(`{"id":%d,"kind":"anchor","payload":{"name":%q,"state":{"owner":"human"}},"meta":{},"date":%q}`+"\n", last, anchor, date))
		fmt.Fprintf(w, "\ntag anchor/%s/%s\nfrom refs/heads/tape/%s\ntagger %s\ndata %d\n%s\n", name, folder, name, who, len(anchor)+1, anchor)
	}
}
