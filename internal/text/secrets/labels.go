package secrets

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// label is a word for passwords or keys in a language other than English. What it labels is judged as in English.
type label struct {
	text string
	k    strength
}

// labels are in lower case, and where a capital letter is not one of ASCII, also with that.
func labels() []label {
	var out []label
	for k, words := range map[strength][]string{
		strong: {"kennwort", "mot de passe", "mdp", "contraseña", "clave", "senha", "parola", "wachtwoord", "lösenord", "adgangskode", "kodeord", "passord", "salasana",
			"hasło", "heslo", "jelszó", "parolă", "şifre", "Şifre", "lozinka", "kata sandi", "mật khẩu", "Mật khẩu", "пароль", "Пароль", "парола", "Парола", "лозинка", "Лозинка", "κωδικός", "Κωδικός",
			"密码", "密碼", "口令", "パスワード", "비밀번호", "암호", "패스워드", "סיסמה", "סיסמא", "كلمة المرور", "كلمة السر", "รหัสผ่าน", "पासवर्ड"},
		medium: {"schlüssel", "clé", "llave", "chave", "chiave", "ключ", "Ключ", "токен", "Токен", "密钥", "密鑰", "秘钥", "令牌", "トークン", "토큰"},
	} {
		for _, word := range words {
			out = append(out, label{word, k})
		}
	}
	return out
}

// labelled returns the check for what follows a label.
func labelled(l label) func(w *walker, text []byte, start, end int) {
	return func(w *walker, text []byte, start, end int) {
		if start > 0 && l.text[0] < utf8.RuneSelf && isWord(text[start-1]) || end < len(text) && isWord(text[end]) {
			return
		}
		w.said(text, end, l.k, slices.Concat(assigns(), verbs()))
	}
}

func assigns() []string { return []string{":", "=", "：", "＝"} }

// verbs are what stands between a label and its value in a sentence.
func verbs() []string {
	return []string{"is ", "is: ", "was ", "are ", "ist ", "lautet ", "war ", "est ", "es ", "é ", "è ", "är ", "er ", "to ", "为", "為", "是", "は", "는 ", "은 "}
}

// said checks a value that a sentence or a label gives: password is X, 密码：X. It has to look generated.
func (w *walker) said(text []byte, end int, k strength, signs []string) {
	i := end
	for i < len(text) && i-end < 4 && (text[i] == '*' || isQuote(text[i]) || text[i] == '\\' || text[i] == ')') {
		i++
	}
	i = skipBlanks(text, i)
	sign := 0
	for _, s := range signs {
		if bytes.HasPrefix(text[i:], []byte(s)) {
			sign = len(s)
			break
		}
	}
	if sign == 0 {
		return
	}
	for i = skipBlanks(text, i+sign); i < len(text) && (text[i] == '*' || text[i] == ':' || text[i] == ' '); {
		i++ // Markdown, or a colon after the verb
	}
	v := assignment{name: end}
	if !v.read(w.s, text, i) {
		return
	}
	value := text[v.from:v.to]
	if !v.quoted {
		if at := bytes.IndexFunc(value, func(r rune) bool { return r >= utf8.RuneSelf }); at >= 0 {
			value = value[:at] // signs of other languages end it
		}
		value = bytes.TrimRight(value, ".:!?*")
		v.to = v.from + len(value)
	}
	if len(value) >= 8 && value[0] != '=' && isMixed(value) && (v.quoted || isPassword(value, assignment{})) {
		w.judge(text, v, nil, k)
	}
}
