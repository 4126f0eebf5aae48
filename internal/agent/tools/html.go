package tools

import (
	stdhtml "html"
	"regexp"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"golang.org/x/net/html"
)

var pageTitle = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)

// fromHTML returns a page's title and text as Markdown, without pictures, scripts and styles. Table
// cells are only separated: the library's own tables repeat a cell as often as its span says, without
// a limit.
func fromHTML(page string) (string, error) {
	c := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin()))
	for _, tag := range []string{"img", "svg", "template"} {
		c.Register.TagType(tag, converter.TagTypeRemove, converter.PriorityEarly)
	}
	for _, tag := range []string{"td", "th"} {
		c.Register.RendererFor(tag, converter.TagTypeInline, func(ctx converter.Context, w converter.Writer, n *html.Node) converter.RenderStatus {
			_, _ = w.WriteString(" | ")
			ctx.RenderChildNodes(ctx, w, n)
			return converter.RenderSuccess
		}, converter.PriorityEarly)
	}
	c.Register.TagType("tr", converter.TagTypeBlock, converter.PriorityEarly)
	text, err := c.ConvertString(page)
	if title := pageTitle.FindStringSubmatch(page); title != nil {
		text = stdhtml.UnescapeString(title[1]) + "\n\n" + text
	}
	return strings.TrimSpace(text), err
}
