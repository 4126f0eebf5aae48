package about_test

import (
	"fmt"
	"strings"
	"testing"

	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
)

// requestBytes is how much of a request a README.md shows, at most.
const requestBytes = 1500

func requestEntry(text string) layout.Entry {
	return layout.Entry{ID: 2, Kind: layout.KindMessage, Payload: append(jsonl.AppendString([]byte(`{"role":"user","content":`), text), '}'), Meta: []byte("{}")}
}

func readmeOf(text string) string {
	var t about.Tape
	e := requestEntry(text)
	t.Add(e)
	return about.Readme(t, e, secrets.New())
}

// Recorded text has no effect as Markdown in a README.md, is short, and is cut between words.
func TestReadmeIsInert(t *testing.T) {
	for in, title := range map[string]string{
		"fix it":             "# fix it\n",
		"2 tests fail":       "# 2 tests fail\n",
		"1. fix <b>it</b>":   "# `1. fix <b>it</b>`\n",
		"see @me and #12":    "# `see @me and #12`\n",
		"`a` *b* $c$":        "# `'a' *b* $c$`\n",
		"\u202egnp.exe\x1b[": "# `gnp.exe[`\n",
		"https://a.example":  "# `https://a.example`\n",
		"数据库 迁移":             "# 数据库 迁移\n",
		"":                   "# A session\n",
	} {
		if got := readmeOf(in); !strings.HasPrefix(got, title) {
			t.Errorf("the README.md of %q does not begin with %q: %s", in, title, got)
		}
	}
	const requestLines = 25
	for _, in := range []string{strings.Repeat("word ", 5000), strings.Repeat("line\n", 5000), strings.Repeat("x", 10000), "```\n````\n# x"} {
		got := readmeOf(in)
		open := strings.Index(got, "```")
		if len(got) > requestBytes+1000 || strings.Count(got, "\n") > requestLines+20 {
			t.Errorf("the README.md of %.10q is too long: %d bytes, %d lines", in, len(got), strings.Count(got, "\n"))
		}
		if open < 0 {
			continue
		}
		fence, _, _ := strings.Cut(got[open:], "text\n")
		if strings.Count(got, fence) != 2 || !strings.HasSuffix(got, "\n"+fence+"\n") {
			t.Errorf("the fence %s can be closed: %.200s", fence, got)
		}
	}
}

// No part of a secret is in a README.md, not even where the request is cut. ShowsRequest finds the request in it.
func TestReadmeHasNoSecret(t *testing.T) {
	key := "AKIA" + "QYLPMN5HFIQR7XJB"
	for n := requestBytes - 60; n < requestBytes+20; n++ {
		text := strings.Repeat("x", n-10) + " and word " + key + " end"
		got := readmeOf(text)
		if strings.Contains(got, key[:6]) {
			t.Fatalf("with the secret at byte %d, a part of it is shown:\n%s", n, got)
		}
	}
	text := "the unknown secret is " + strings.Repeat("hunter", 300)
	got := layout.ReadmeOf(readmeOf(text))
	if strings.Contains(got, "hunter") {
		t.Error("a part of a word is shown")
	}
	if !about.ShowsRequest([]byte(got), requestEntry(text), secrets.New()) || about.ShowsRequest([]byte(got), requestEntry("other"), secrets.New()) || about.ShowsRequest([]byte(layout.Readme), requestEntry(text), secrets.New()) {
		t.Error("ShowsRequest does not tell the request from others")
	}
	if fmt.Sprint(layout.IsReadme([]byte(got)), layout.IsReadme([]byte(layout.Readme)), layout.IsReadme([]byte("# mine\n"))) != "true true false" {
		t.Error("IsReadme does not tell files that tape wrote from others")
	}
}
