package prose

import (
	"strings"
	"testing"
)

const toWeb = `<a rel="noopener noreferrer nofollow" href="`

// Markdown is rendered, and other text stays as it is.
func TestMarkdown(t *testing.T) {
	r := New()
	for _, c := range []struct{ in, out string }{
		{"# Title #\ntext", "<h3>Title</h3>\n<p>text</p>"},
		{"Title\n===\n\nTitle\n---", "<p>Title<br>\n===</p>\n<p>Title</p>\n<hr>"},
		{"#hashtag", `<p>#hashtag</p>`},
		{"one\ntwo\n\nthree", "<p>one<br>\ntwo</p>\n<p>three</p>"},
		{"a `x<y` b ``x`y`` `", "<p>a <code>x&lt;y</code> b <code>x`y</code> `</p>"},
		{"**bold *both*** _em_ ~~gone~~", "<p><strong>bold <em>both</em></strong> <em>em</em> <del>gone</del></p>"},
		{"snake_case_name 2 * 3 * 4 \\*x\\* *.go", "<p>snake_case_name 2 * 3 * 4 *x* *.go</p>"},
		{"- a\n  - b\n- [x] c\n- [ ] d", "<ul>\n<li>a\n<ul>\n<li>b</li>\n</ul>\n</li>\n<li>☑ c</li>\n<li>☐ d</li>\n</ul>"},
		{"3. a\n   ```mine\n   x\n   ```\n4. b", "<ol start=\"3\">\n<li>a\n<p class=\"info\">mine</p>\n<pre class=\"code\" tabindex=\"0\"><code>x\n</code></pre>\n</li>\n<li>b</li>\n</ol>"},
		{"> a\n> > b\n\nc", "<blockquote>\n<p>a</p>\n<blockquote>\n<p>b</p>\n</blockquote>\n</blockquote>\n<p>c</p>"},
		{"```go title=x\nfunc\n```", "<p class=\"info\">go title=x</p>\n<pre class=\"code\" tabindex=\"0\"><code><span class=\"kd\">func</span><span class=\"w\">\n</span></code></pre>"},
		{"a\n***\n    code", "<p>a</p>\n<hr>\n<pre class=\"code\" tabindex=\"0\"><code>code\n</code></pre>"},
		{"|a|b|\n|-|:-:|\n|`x`|y \\| z|more|", "<table tabindex=\"0\">\n<thead>\n<tr>\n<th>a</th>\n<th align=\"center\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>x</code></td>\n<td align=\"center\">y | z | more</td>\n</tr>\n</tbody>\n</table>"},
		{"see https://example.org/a_(b)?c=1&d. And", `<p>see ` + toWeb + `https://example.org/a_(b)?c=1&amp;d">https://example.org/a_(b)?c=1&amp;d</a>. And</p>`},
		{"(http://a.example) <http://b.example> <me@c.example>", `<p>(` + toWeb + `http://a.example">http://a.example</a>) ` + toWeb + `http://b.example">http://b.example</a> ` + toWeb + `mailto:me@c.example">me@c.example</a></p>`},
		{"[a `b`](https://a.example 'c') ![d](https://d.example)", `<p>` + toWeb + `https://a.example" title="c">a <code>b</code></a> ` + toWeb + `https://d.example">image: d</a></p>`},
		{`$$a_1*b_1*c_1 < x$$ and \(a_1*b_1*\frac{1}{2}\) for $5 or *$6*, \[later\]`, `<p>$$a_1*b_1*c_1 &lt; x$$ and \(a_1*b_1*\frac{1}{2}\) for $5 or <em>$6</em>, [later]</p>`},
		{"a\u202eb\x1b[1m", `<p>a&lt;U+202E&gt;b</p>`},
	} {
		if got := strings.TrimSpace(string(r.HTML(c.in))); got != c.out {
			t.Errorf("%q becomes\n%s\nwant\n%s", c.in, got, c.out)
		}
	}
}

// HTML stays text, and links lead only to the web and to mail programs.
func TestHostileMarkdown(t *testing.T) {
	r := New()
	for in, out := range map[string]string{
		"[x](javascript:alert(1)) [y](data:text/html,z) [z](/etc/passwd)":  "<p>x (javascript:alert(1)) y (data:text/html,z) z (/etc/passwd)</p>",
		"[x](JaVaScRiPt:alert(1) 'why') <javascript:alert(1)> //a.example": "<p>x (JaVaScRiPt:alert(1) why) javascript:alert(1) //a.example</p>",
		"![x](//evil.example/x.png) ftp://a.example xhttp://b.example":     "<p>image: x (//evil.example/x.png) ftp://a.example xhttp://b.example</p>",
		"[z]\n\n[z]: https://z.example \"t\"":                              "<p>[z]</p>\n<p>[z]: " + toWeb + "https://z.example\">https://z.example</a> &quot;t&quot;</p>",
		"[![p](https://p.example)](https://l.example)":                     "<p>" + toWeb + "https://l.example\">image: p (https://p.example)</a></p>",
		"[a <https://b.example>](https://c.example)":                       "<p>" + toWeb + "https://c.example\">a https://b.example</a></p>",
		"[x](https://a.example/\"onclick=\"alert(1))":                      "<p>" + toWeb + "https://a.example/%22onclick=%22alert(1)\">x</a></p>",
		"a <b onclick=x>c</b> <!-- d -->":                                  "<p>a &lt;b onclick=x&gt;c&lt;/b&gt; &lt;!-- d --&gt;</p>",
		"<script>\nalert(1)\n</script>":                                    "<pre tabindex=\"0\">\n&lt;script&gt;\nalert(1)\n&lt;/script&gt;</pre>",
		"```\"><script>\n</code></pre>\n```":                               "<p class=\"info\">&#34;&gt;&lt;script&gt;</p>\n<pre class=\"code\" tabindex=\"0\"><code>&lt;/code&gt;&lt;/pre&gt;\n</code></pre>",
	} {
		if got := strings.TrimSpace(string(r.HTML(in))); got != out {
			t.Errorf("%q becomes\n%s\nwant\n%s", in, got, out)
		}
	}
}

// What comes after the first lines is folded, between two blocks. A text that is too long for
// Markdown, too deep for a browser, or would take seconds to parse, is shown as it is.
func TestFolded(t *testing.T) {
	r := New()
	text := strings.Repeat("a *word*\n\n", 30)
	const fold = `<details class="more"><summary>`
	head, rest, ok := strings.Cut(r.Folded(text, 20), fold)
	if want := "<p>a <em>word</em></p>\n"; !ok || strings.Count(head, want) != 10 || strings.Count(rest, want) != 20 ||
		!strings.HasPrefix(rest, "39 more lines (") || !strings.HasSuffix(rest, "</details>\n") {
		t.Errorf("head:\n%s\nrest:\n%s", head, rest)
	}
	if got := r.Folded(text, 60); strings.Contains(got, fold) {
		t.Error("a text of 60 lines is folded after 60 lines")
	}
	for _, text := range []string{strings.Repeat("**x** y\n", maxMarkdown/8+1), strings.Repeat("> ", maxDepth+1) + "a **deep** one",
		strings.Repeat("1. - ", maxDepth) + "a **deep** one", strings.Repeat("[a](", maxLinks+1) + "**b**"} {
		got := r.Folded(text, 20)
		if strings.Contains(got, "<strong>") || !strings.HasPrefix(got, "<pre") || strings.Count(got, "**") != strings.Count(text, "**") {
			t.Errorf("not shown as it is: %.200s", got)
		}
	}
}

// Code has the colours of its language. If it is too long or its language is unknown, it has none.
func TestCode(t *testing.T) {
	r := New()
	for language, colours := range map[string]bool{"go": true, "/a/b/main.go": true, "": false, "no such": false, strings.Repeat("x", maxName+1): false} {
		got := string(r.Code("func a() { return \"<b>\u202e\" }\n", language))
		if strings.Contains(got, "<span") != colours || strings.Contains(got, "<b>") || strings.Contains(got, "\u202e") {
			t.Errorf("code in %q, want colours %v: %s", language, colours, got)
		}
	}
	if got := string(r.Code(strings.Repeat("func\n", maxCode/5+1), "go")); strings.Contains(got, "<span") {
		t.Error("code over the limit has colours")
	}
}
