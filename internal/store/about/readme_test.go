package about

import (
	"fmt"
	"strings"
	"testing"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
)

func asked1(text string) layout.Entry {
	return layout.Entry{ID: 2, Kind: layout.KindMessage, Payload: append(jsonl.AppendString([]byte(`{"role":"user","content":`), text), '}'), Meta: []byte("{}")}
}

func readmeOf(text string) string {
	var t Tape
	e := asked1(text)
	t.Add(e)
	return Readme(t, e, secrets.New())
}

// Recorded text cannot mean anything in a README.md, is short, and ends between words.
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
			t.Errorf("%q: %s", in, got)
		}
	}
	for _, in := range []string{strings.Repeat("word ", 5000), strings.Repeat("line\n", 5000), strings.Repeat("x", 10000), "```\n````\n# x"} {
		got := readmeOf(in)
		open := strings.Index(got, "```")
		if len(got) > requestBytes+1000 || strings.Count(got, "\n") > requestLines+20 {
			t.Errorf("%d bytes", len(got))
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

// No part of a secret is in it, not even where the request is cut; and who has the request finds it.
func TestReadmeHasNoSecret(t *testing.T) {
	key := "AKIA" + "QYLPMN5HFIQR7XJB"
	for n := requestBytes - 60; n < requestBytes+20; n++ {
		text := strings.Repeat("x", n-10) + " and word " + key + " end"
		got := readmeOf(text)
		if strings.Contains(got, key[:6]) {
			t.Fatal(n, got)
		}
	}
	text := "the unknown secret is " + strings.Repeat("hunter", 300)
	got := layout.ReadmeOf(readmeOf(text))
	if strings.Contains(got, "hunter") {
		t.Error("a part of a word is shown")
	}
	if !ShowsRequest([]byte(got), asked1(text), secrets.New()) || ShowsRequest([]byte(got), asked1("other"), secrets.New()) || ShowsRequest([]byte(layout.Readme), asked1(text), secrets.New()) {
		t.Error("whether a request is shown")
	}
	if fmt.Sprint(layout.IsReadme([]byte(got)), layout.IsReadme([]byte(layout.Readme)), layout.IsReadme([]byte("# mine\n"))) != "true true false" {
		t.Error("which files are tape's own")
	}
}
