/** Characters that are invisible, or change how the text around them is shown. */
export const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}]/gu;
