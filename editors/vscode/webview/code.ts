/** Colours of code, by the language that a fence names. The classes get their colours from the editor's theme in code.css. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LENGTH_MAX = 30_000; // characters; longer code is shown plain rather than late

const languages = {
  bash, c, cpp, csharp, css, diff, go, ini, java, javascript, json, kotlin, lua, makefile, php, python, ruby, rust, shell, sql, swift,
  typescript, xml, yaml,
};
for (const [name, language] of Object.entries(languages)) {
  hljs.registerLanguage(name, language);
}
hljs.registerAliases(["toml"], { languageName: "ini" });

/** Code as markup, or undefined where there are no colours for it: then it goes in as text. */
export function coloured(code: string, language: string): string | undefined {
  if (code.length > LENGTH_MAX || !hljs.getLanguage(language)) {
    return undefined;
  }
  return hljs.highlight(code, { language, ignoreIllegals: true }).value;
}
