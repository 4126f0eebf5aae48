package aider_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/aider"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

const history = `
# aider chat started at 2026-01-01 00:00:00

> /usr/bin/aider --message mend the door
and the window  
> Aider v0.86.2  
> Model: gpt-4o with diff edit format  

#### /add a.go  
> Added a.go to the chat  

#### mend the door  
####   
#### and the window  

I look:

#### Step 1
> a quote

` + "```" + `
# a heading
` + "```" + `

> Tokens: 3.3k sent, 1k cache hit, 399 received. Cost: $0.0014 message, $0.02 session.  
> Applied edit to a.go  
> Commit cb524ea mend: the door  

# aider chat started at 2026-01-02 00:00:00

#### more  
`

const run = `event {"name":"run","data":{"model":"gpt-4o","usage":{"input_tokens":3300,"cached_input_tokens":1000,"output_tokens":399},"rounded":true,"cost":0.0014,"text":"Tokens: 3.3k sent, 1k cache hit, 399 received. Cost: $0.0014 message, $0.02 session."}}`

func TestAider(t *testing.T) {
	seen := formattest.Seen{}
	items, _ := imp.Items(t, aider.Format.Name, "x", []byte(history), seen)
	formattest.Want(t, items,
		`anchor {"name":"chat"}`,
		`event {"name":"output","data":{"text":"/usr/bin/aider --message mend the door\nand the window\nAider v0.86.2\nModel: gpt-4o with diff edit format"}}`,
		`event {"name":"command","data":{"text":"/add a.go"}}`,
		`event {"name":"output","data":{"text":"Added a.go to the chat"}}`,
		`message {"role":"user","content":"mend the door\n\nand the window"}`,
		`message {"role":"assistant","content":"I look:\n\n#### Step 1\n> a quote\n\n`+"```"+`\n# a heading\n`+"```"+`"}`,
		run,
		`event {"name":"output","data":{"text":"Applied edit to a.go"}}`,
		`event {"name":"project.commit","data":{"id":"cb524ea","subject":"mend: the door"}}`,
		`anchor {"name":"chat"}`,
		`message {"role":"user","content":"more"}`)
	if items, _ := imp.Items(t, aider.Format.Name, "x", []byte(history), seen); len(items) != 0 {
		t.Errorf("read again: %s", formattest.Show(items))
	}
}

// TestGrows: what is read while the file grows is all of it, in its order, and nothing twice.
func TestGrows(t *testing.T) {
	lines := strings.SplitAfter(history, "\n")
	words := func(text string) string {
		return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \\\n", r) }), " ")
	}
	for n := range lines {
		seen := formattest.Seen{}
		first, _ := imp.Items(t, aider.Format.Name, "x", []byte(strings.Join(lines[:n], "")+lines[n][:len(lines[n])/2]), seen)
		second, _ := imp.Items(t, aider.Format.Name, "x", []byte(history), seen)
		var got string
		for _, it := range append(first, second...) {
			got += " " + string(it.Entry.Payload)
		}
		for _, word := range []string{"Aider v0.86.2", "Added a.go", "mend the door", "and the window", "I look", "a quote", "a heading", "399 received", "Applied edit", "cb524ea", `"content":"more"`} {
			if has := strings.Count(words(got), words(word)); has == 0 || word != "mend the door" && word != "and the window" && word != "399 received" && has > 1 {
				t.Errorf("after %d lines: %q comes %d times in %s", n, word, has, got)
			}
		}
	}
}

// TestLax: editors remove the spaces at the ends of lines. Then fences show what belongs to an answer.
func TestLax(t *testing.T) {
	text := strings.ReplaceAll("# aider chat started at 2026-01-01 00:00:00\n\n#### ask\n\nso\n```\n#### no\n```\n> done\n", "  \n", "\n")
	items, _ := imp.Items(t, aider.Format.Name, "x", []byte(text), formattest.Seen{})
	formattest.Want(t, items, `anchor {"name":"chat"}`, `message {"role":"user","content":"ask"}`, `message {"role":"assistant","content":"so\n`+"```"+`\n#### no\n`+"```"+`"}`, `event {"name":"output","data":{"text":"done"}}`)
}

// TestFound: in a folder, only files of this name are histories.
func TestFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ".aider.chat.history.md")
	for _, name := range []string{path, filepath.Join(dir, "README.md")} {
		if err := os.WriteFile(name, []byte(history), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := importer.Files(t.Context(), dir); err != nil || len(files) != 1 || files[0].Name != path {
		t.Errorf("%v, %v", files, err)
	}
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Format != aider.Format.Name || info.Session != "aider-shop" || info.Started != "2026-01-01T00:00:00.000000+00:00" || !strings.Contains(string(info.State), `"cwd":`) {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
}

func FuzzAider(f *testing.F) {
	f.Add([]byte(history))
	f.Fuzz(func(t *testing.T, b []byte) {
		imp.Detect("x", b)
		seen := formattest.Seen{}
		imp.Items(t, aider.Format.Name, "x", b, seen)
		if again, _ := imp.Items(t, aider.Format.Name, "x", b, seen); len(again) > 0 {
			t.Errorf("read again, want no entries, got: %s", formattest.Show(again))
		}
	})
}

// TestRequest: older versions say "request" where newer ones say "message".
func TestRequest(t *testing.T) {
	items, _ := imp.Items(t, aider.Format.Name, "x", []byte("# aider chat started at 2024-06-01 00:00:00\n\n#### ask  \n\nso\n\n> Tokens: 5,244 sent, 604 received. Cost: $0.02 request, $0.02 session.  \n"), formattest.Seen{})
	formattest.Want(t, items,
		`anchor {"name":"chat"}`,
		`message {"role":"user","content":"ask"}`,
		`message {"role":"assistant","content":"so"}`,
		`event {"name":"run","data":{"usage":{"input_tokens":5244,"output_tokens":604},"rounded":true,"cost":0.02,"text":"Tokens: 5,244 sent, 604 received. Cost: $0.02 request, $0.02 session."}}`)
}

// TestTwoLines: the cost may be on a line of its own, without a mark.
func TestTwoLines(t *testing.T) {
	const begin = "# aider chat started at 2024-08-01 00:00:00\n\n#### ask  \n\nso\n\n> Tokens: 9,869 sent, 7 received.\n"
	items, _ := imp.Items(t, aider.Format.Name, "x", []byte(begin+"Cost: $0.03 message, $0.03 session.  \n\n#### and  \n"), formattest.Seen{})
	formattest.Want(t, items,
		`anchor {"name":"chat"}`,
		`message {"role":"user","content":"ask"}`,
		`message {"role":"assistant","content":"so"}`,
		`event {"name":"run","data":{"usage":{"input_tokens":9869,"output_tokens":7},"rounded":true,"cost":0.03,"text":"Tokens: 9,869 sent, 7 received. Cost: $0.03 message, $0.03 session."}}`,
		`message {"role":"user","content":"and"}`)
}

// TestLastLine: versions of 2024 ended only those lines with spaces that another one of the kind followed. A heading in an
// answer is none of a person's; a file may have chats of several versions. Their empty lines are only the mark, and a prompt
// may have an empty line after each of its own.
func TestLastLine(t *testing.T) {
	const old = `
# aider chat started at 2024-08-20 14:08:19

> Aider v0.50.1  
> Git repo: .git with 116 files

#### mend the door

I look:

#### Step 1

> a quote

` + "```" + `
#### in code
` + "```" + `

> Tokens: 12,124 sent, 2,059 received. Cost: $0.07 message, $0.22 session.  
> Applied edit to a.go

#### and the window  
#### too

####

#### it squeaks

Done.

> a block failed  
> to match
>
> its lines

Again.

> Tokens: 100 sent, 20 received. Cost: $0.01 message, $0.23 session.

#### /undo
`
	items, _ := imp.Items(t, aider.Format.Name, "x", []byte(old+strings.TrimPrefix(history, "\n")), formattest.Seen{})
	var said []string
	for _, it := range items {
		if k := it.Entry.Kind; k == "message" {
			said = append(said, jsonl.GetString(it.Entry.Payload, "role")+": "+jsonl.GetString(it.Entry.Payload, "content"))
		} else if about.EventName(it.Entry.Payload) == "command" {
			said = append(said, "command: "+jsonl.GetString(it.Entry.Payload, "data", "text"))
		}
	}
	want := []string{"user: mend the door", "assistant: I look:\n\n#### Step 1", "assistant: ```\n#### in code\n```", "user: and the window\ntoo\n\n\n\nit squeaks", "assistant: Done.", "assistant: Again.", "command: /undo", "command: /add a.go", "user: mend the door\n\nand the window"}
	if len(said) < len(want) || !slices.Equal(said[:len(want)], want) {
		t.Errorf("got %q, want %q first", said, want)
	}
	anchors := formattest.Seen{} // a former version read the chats in another way
	for _, it := range items {
		if it.Entry.Kind == "anchor" {
			anchors["\x00"+it.Keys[0]] = true
		}
	}
	again, _ := imp.Items(t, aider.Format.Name, "x", []byte(old+strings.TrimPrefix(history, "\n")), anchors)
	if strings.Contains(formattest.Show(again), "squeaks") || !strings.Contains(formattest.Show(again), "more") {
		t.Errorf("read again, want only the last chat:\n%s", formattest.Show(again))
	}
}
