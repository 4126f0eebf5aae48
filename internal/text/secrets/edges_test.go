package secrets

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

// TestEdges: the secret in a value without quotes is masked, and nothing around it.
func TestEdges(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	simple := "bdy" + strings.ToUpper(made(rng, "kmpqvw", 4)) + "!"
	signs := "Zq" + made(rng, "2345678", 1) + "$ab(" + made(rng, digits, 1) + ")x*Q"
	dollar := "Zq" + made(rng, "2345678", 1) + "$ab" + made(rng, digits, 1) + "xYw1"
	for _, c := range []struct{ before, secret, after string }{
		{"`PASSWORD=", simple, "`"}, {"run `export PASSWORD=", simple, "`."}, {"**PASSWORD=", simple, "**"}, {"**PASSWORD=", simple, "**, then"},
		{"['PASSWORD=", simple, "']"}, {`["A=1","PASSWORD=`, simple, `","B=2"]`}, {"<td>PASSWORD=", simple, "</td>"}, {"<li>PASSWORD=", simple, "<br/>x"},
		{"(see PASSWORD=", simple, ")."}, {"| PASSWORD=", simple, "|"}, {"*PASSWORD=", simple, "*"}, {"[PASSWORD=", simple, "]"}, {"{PASSWORD=", simple, "}"},
		{"set it with `SECRET_KEY=", key(rng, 32), "`."}, {"`DD_API_KEY=", made(rng, digits+"abcdef", 31) + "7", "`."}, {"**API_KEY=", key(rng, 32), "**"},
		{"DB_PASSWORD=", dollar, ""}, {"DB_PASSWORD=", signs, ""}, {"A=1\nDB_PASSWORD=", signs, "\nB=2"}, {"`DB_PASSWORD=", signs, "`"}, {"(DB_PASSWORD=", signs + "(1)", ")"},
		{"password: ", dollar, ""}, {"password: ", signs, ""}, {"db:\n  password: ", signs, "  # of the database\n  port: 1"}, {"+  password: ", signs, "\n"},
		{"spring.datasource.password=", signs, ""},
	} {
		text := c.before + c.secret + c.after
		value := jsonl.AppendString(nil, text)
		out, found := s.Mask(value, nil)
		if len(found) != 1 {
			t.Errorf("found %q in %q, want one secret", rulesOf(found), text)
			continue
		}
		if want := string(jsonl.AppendString(nil, c.before+found[0].Mark()+c.after)); string(out) != want {
			t.Errorf("masked %s, want %s", out, want)
		}
	}
}

// TestExpressions: what a program, a shell or a template fills in is not a password.
func TestExpressions(t *testing.T) {
	s := New()
	names := []string{"DB_PASSWORD=%s", "`PASSWORD=%s`", "password: %s", "  password: %s,\n", "password = %s", "password=%s", "self.password = %s", "Password: %s,", "**SECRET_KEY=%s**"}
	for _, value := range []string{"$DB_PASS2", "${Db2Pass}", "$(pass Show2 db)", "Abc1$USER", "App2_$suffix", "get_Pass2(Env1)", "os.environ[Db2Pass]", "Config2.Get(Key1)", "<Your-Pass2word>",
		"Pre2{Name}", "Base64[String]", "!await2.Pass(X)", "this.userPass2$", "&cfg.Pass12", "*Cfg.Pass12", "Optional2[Str]", "Utf8String|Md5String", "map[String2]Int32", "(Foo12)Bar34", "[A-Za-z0-9]+",
		"([A-Z]+[a-z0-9]+)", "{{Vault2.Pass}}", "z.string().min(8).max(Max2)", "%PASS2word%", "Sha256Sum(Pass12)", "Foo2()", "$this->Pass12", "$env:Pass12", "@Param2(Name)", "Fields2[0].Value1", "Abc1.*",
		"faker.Internet2.password({length:20})", "Func1(x)(y)", "new2.Pass(Str1)+Salt2(x)"} {
		for _, name := range names {
			text := fmt.Sprintf(name, value)
			if found := s.Text([]byte(text)); len(found) > 0 {
				t.Errorf("found %q in %q, want nothing", rulesOf(found), text)
			}
		}
	}
	// An incomplete line has no secret.
	for _, text := range []string{`password: "`, "password:", "password: ", "PASSWORD=`", "PASSWORD=*", "**PASSWORD=**", "`PASSWORD=`", "password: (", "password=)"} {
		if found := rulesOf(s.Text([]byte(text))); !slices.Equal(found, nil) {
			t.Errorf("found %q in %q, want nothing", found, text)
		}
	}
}
