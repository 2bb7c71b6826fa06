"""
The formulas of metrics and aggregates as LaTeX, by the names of their records, for the pages of the documentation.

The first equation defines the metric, others define its symbols.
"""

FORMULAS: dict[str, tuple[str, ...]] = {
    "AP": (r"\mathrm{AP@}k = \frac{1}{R} \sum_{r=1}^{k} \mathrm{rel}_r \cdot \frac{h_r}{r}",),
    "AP_IA": (
        r"\mathrm{AP-IA@}k = \frac{1}{Z} \sum_{z} \frac{1}{R_z} \sum_{r=1}^{k} \mathrm{rel}_{r,z} \cdot "
        r"\frac{h_{r,z}}{r}",
    ),
    "AUC": (
        r"\mathrm{AUC} = \frac{1}{R \cdot N} \sum_{r=1}^{n} (1 - \mathrm{rel}_r) \cdot h_r",
        "N = n - h_n",
    ),
    "BPM": (
        r"\mathrm{BPM@}k = \frac{1}{m} \sum_{r=1}^{m} g_r",
        r"m = \min\left(k, \; \min \{ r : \sum_{i=1}^{r} g_i \geq T \}\right)",
    ),
    "CG": (r"\mathrm{CG@}k = \sum_{r=1}^{k} g_r",),
    "ClassificationAccuracy": (
        r"\mathrm{ClassificationAccuracy@}k = \frac{h_k + \sum_{r=k+1}^{n} (1 - \mathrm{rel}_r)}{n + R - h_n}",
    ),
    "Compat": (
        r"\mathrm{Compat@}k = \frac{\sum_{d=1}^{k} p^{d-1} \cdot |A_d \cap I_d| \, / \, d}{\sum_{d=1}^{k} p^{d-1} "
        r"\cdot |I_d| \, / \, d}",
    ),
    "CoverageError": (r"\mathrm{CoverageError} = \min \{ r : h_r = R \}",),
    "DCG": (
        r"\mathrm{DCG@}k = \sum_{r=1}^{k} g_r \cdot d(r)",
        r"d(r) = \frac{1}{\log_2(r + 1)}",
    ),
    "ERR": (
        r"\mathrm{ERR@}k = \sum_{r=1}^{k} \frac{s_r}{r} \prod_{i=1}^{r-1} (1 - s_i)",
        r"s_r = \frac{2^{\ell_r} - 1}{2^{\ell_{\max}}}",
    ),
    "ERR_IA": (
        r"\mathrm{ERR-IA@}k = \frac{\sum_{r=1}^{k} \gamma_r \, / \, r}{\sum_{r=1}^{k} Z \cdot (1 - \alpha)^{r-1} "
        r"\, / \, r}",
    ),
    "F": (
        r"\mathrm{F@}k = \frac{(1 + \beta^2) \cdot \mathrm{P@}k \cdot \mathrm{R@}k}{\beta^2 \cdot \mathrm{P@}k + "
        r"\mathrm{R@}k}",
    ),
    "FallOut": (
        r"\mathrm{FallOut@}k = \frac{1}{N} \sum_{r=1}^{k} (1 - \mathrm{rel}_r)",
        "N = n - h_n",
    ),
    "G": (
        r"\mathrm{G} = \frac{1}{\sum_{r} g^*_r} \sum_{r=1}^{n} \frac{g_r}{\log_2 \left(2 + \sum_{i=1}^{r} "
        r"(\max(g^*_i, 1) - g_i)\right)}",
    ),
    "GAUC": (r"\mathrm{GAUC} = \frac{\sum_q w_q \cdot \mathrm{AUC}_q}{\sum_q w_q}",),
    "IAP": (r"\mathrm{IAP} = \frac{1}{|\mathcal{L}|} \sum_{\varrho \in \mathcal{L}} \mathrm{IPrec}(\varrho)",),
    "IDCG": (r"\mathrm{IDCG@}k = \sum_{r=1}^{k} g^*_r \cdot d(r)",),
    "ILD": (
        r"\mathrm{ILD@}k = \frac{2}{k (k - 1)} \sum_{i=1}^{k} \sum_{r=i+1}^{k} \mathrm{dist}(i, r)",
        r"\mathrm{dist}_{\mathrm{cosine}}(i, r) = 1 - \frac{v_i \cdot v_r}{\Vert v_i \Vert \cdot \Vert v_r \Vert}",
        r"\mathrm{dist}_{\mathrm{jaccard}}(i, r) = 1 - \frac{|Y_i \cap Y_r|}{|Y_i \cup Y_r|}",
        r"\mathrm{dist}_{\mathrm{hamming}}(i, r) = |Y_i \cup Y_r| - |Y_i \cap Y_r|",
    ),
    "INST": (
        r"\mathrm{INST@}k = \frac{\sum_{r=1}^{k} g_r \cdot V_r}{\sum_{r=1}^{k} V_r}",
        r"V_1 = 1, \quad V_{r+1} = V_r \cdot \left(\frac{r + T + T_r - 1}{r + T + T_r}\right)^2",
        r"T_r = T - \sum_{i=1}^{r} g_i",
    ),
    "IPrec": (r"\mathrm{IPrec}(\varrho) = \max_{r \, : \, h_r \geq \varrho R} \; \frac{h_r}{r}",),
    "Judged": (r"\mathrm{Judged@}k = \frac{1}{\min(k, n)} \sum_{r=1}^{\min(k, n)} \mathrm{jud}_r",),
    "LRAP": (r"\mathrm{LRAP} = \frac{1}{R} \sum_{r=1}^{n} \mathrm{rel}_r \cdot \frac{h_r}{r}",),
    "NRBP": (r"\mathrm{NRBP} = \frac{1 - (1 - \alpha) \cdot \beta}{Z} \sum_{r=1}^{n} \gamma_r \cdot \beta^{r-1}",),
    "OPA": (r"\mathrm{OPA} = \frac{|\{ (i, j) : \ell_i > \ell_j, \; r_i < r_j \}|}{|\{ (i, j) : \ell_i > \ell_j \}|}",),
    "P": (r"\mathrm{P@}k = \frac{h_k}{k}",),
    "PFound": (r"\mathrm{PFound@}k = \sum_{r=1}^{k} \delta^{r-1} \cdot s_r \prod_{i=1}^{r-1} (1 - s_i)",),
    "P_IA": (r"\mathrm{P-IA@}k = \frac{1}{Z} \sum_{z} \frac{h_{k,z}}{k}",),
    "PatR": (
        r"\mathrm{PatR} = \frac{h_m}{m}",
        r"m = \min \{ r : h_r \geq \varrho R \}",
    ),
    "Q": (
        r"\mathrm{Q@}k = \frac{1}{R} \sum_{r=1}^{k} \mathrm{rel}_r \cdot \frac{h_r + \beta \sum_{i=1}^{r} g_i}{r "
        r"+ \beta \sum_{i=1}^{r} g^*_i}",
    ),
    "R": (r"\mathrm{R@}k = \frac{h_k}{R}",),
    "RBO": (
        r"\mathrm{RBO} = (1 - p) \sum_{d=1}^{\infty} p^{d-1} \cdot \frac{X_d}{d}",
        r"\mathrm{RBO}_{\mathrm{EXT}} = \frac{1 - p}{p} \left(\sum_{d=1}^{n_{\max}} \frac{X_d}{d} p^d + "
        r"\sum_{d=n_{\min}+1}^{n_{\max}} \frac{X_{n_{\min}} (d - n_{\min})}{n_{\min} \, d} p^d\right) + "
        r"\left(\frac{X_{n_{\max}} - X_{n_{\min}}}{n_{\max}} + \frac{X_{n_{\min}}}{n_{\min}}\right) p^{n_{\max}}",
        r"\mathrm{RBO}_{\mathrm{MIN}} = \frac{1 - p}{p} \left(\sum_{d=1}^{n_{\max}} (X_d - X_{n_{\max}}) "
        r"\frac{p^d}{d} - X_{n_{\max}} \ln(1 - p)\right)",
    ),
    "RBP": (r"\mathrm{RBP@}k = (1 - p) \sum_{r=1}^{k} g_r \cdot p^{r-1}",),
    "RBP_resid": (
        r"\mathrm{RBP\_resid@}k = (1 - p) \sum_{r=1}^{\min(k, n)} (1 - \mathrm{jud}_r) \cdot p^{r-1} + p^{\min(k, "
        "n)}",
    ),
    "RR": (r"\mathrm{RR@}k = \max_{1 \leq r \leq k} \frac{\mathrm{rel}_r}{r}",),
    "Rank": (r"\mathrm{Rank} = \min \{ r : \mathrm{rel}_r = 1 \}",),
    "RankingLoss": (r"\mathrm{RankingLoss} = 1 - \mathrm{AUC}",),
    "RelP": (r"\mathrm{RelP@}k = \frac{h_k}{\min(k, R)}",),
    "Rndcg": (r"\mathrm{Rndcg} = \frac{1}{|\mathcal{E}|} \sum_{r \in \mathcal{E}} \mathrm{nDCG@}r",),
    "Rprec": (
        r"\mathrm{Rprec@}k = \frac{h_m}{m}",
        r"m = \min(k, \lfloor \mu R + 0.9 \rfloor)",
    ),
    "S_recall": (r"\mathrm{S-recall@}k = \frac{1}{Z} \sum_{z} \min(1, h_{k,z})",),
    "SetAP": (r"\mathrm{SetAP} = \frac{h_n}{n} \cdot \frac{h_n}{R}",),
    "Success": (r"\mathrm{Success@}k = \min(1, h_k)",),
    "TBG": (
        r"\mathrm{TBG@}k = \sum_{r=1}^{k} \mathrm{rel}_r \cdot 0.64 \cdot 0.77 \cdot 2^{-t_r / t_{1/2}}",
        r"t_r = \sum_{i=1}^{r-1} (4.4 + (0.018 \, \mathrm{words} + 7.8) \cdot (0.39 + 0.25 \, \mathrm{rel}_i))",
    ),
    "Unjudged": (r"\mathrm{Unjudged@}k = \frac{1}{k} \sum_{r=1}^{\min(k, n)} (1 - \mathrm{jud}_r)",),
    "Utility": (
        r"\mathrm{Utility} = w_a \, h_n + w_b \, (n - h_n) + w_c \, (R - h_n) + w_d \, (\mathrm{documents} - n - "
        "R + h_n)",
    ),
    "all_evidence": (r"\mathrm{all\ evidence@}k = \prod_{z} \min(1, h_{k,z})",),
    "alpha_DCG": (
        r"\alpha\mathrm{-DCG@}k = \frac{\sum_{r=1}^{k} \gamma_r \cdot d(r)}{\sum_{r=1}^{k} Z \cdot (1 - "
        r"\alpha)^{r-1} \cdot d(r)}",
    ),
    "alpha_nDCG": (
        r"\alpha\mathrm{-nDCG@}k = \frac{\sum_{r=1}^{k} \gamma_r \cdot d(r)}{\sum_{r=1}^{k} \gamma^*_r \cdot d(r)}",
        r"\gamma_r = \sum_{z} \mathrm{rel}_{r,z} \cdot (1 - \alpha)^{h_{r-1,z}}",
    ),
    "binG": (r"\mathrm{binG} = \frac{1}{R} \sum_{r=1}^{n} \frac{\mathrm{rel}_r}{\log_2(2 + r - h_r)}",),
    "bpref": (
        r"\mathrm{bpref} = \frac{1}{R} \sum_{r=1}^{n} \mathrm{rel}_r \cdot \left(1 - \frac{\min(o_r, R)}{\min(O, "
        r"R)}\right)",
    ),
    "chance_RR": (
        r"\mathrm{chance\_RR@}k = \sum_{r=1}^{\min(k, n)} \frac{1}{r} \cdot \frac{\binom{n - r}{R - "
        r"1}}{\binom{n}{R}}",
    ),
    "chance_Rank": (r"\mathrm{chance\_Rank} = \frac{n + 1}{R + 1}",),
    "chance_Success": (r"\mathrm{chance\_Success@}k = 1 - \frac{\binom{n - k}{R}}{\binom{n}{R}}",),
    "coverage": (r"\mathrm{coverage@}k = \frac{|\bigcup_q B_q|}{J}",),
    "entropy": (
        r"\mathrm{entropy@}k = -\sum_{j} \mathrm{share}_j \cdot \log_2 \mathrm{share}_j",
        r"\mathrm{share}_j = \frac{\mathrm{count}_j}{\sum_{i=1}^{J} \mathrm{count}_i}",
    ),
    "gini": (
        r"\mathrm{gini@}k = \frac{\sum_{j=1}^{J} (2 j - J - 1) \cdot \mathrm{count}_j}{J \cdot \sum_{j=1}^{J} "
        r"\mathrm{count}_j}",
    ),
    "infAP": (
        r"\mathrm{infAP} = \frac{1}{R} \sum_{r=1}^{n} \frac{\mathrm{rel}_r}{r} \cdot \left(1 + \mathrm{pool}_r "
        r"\cdot \frac{h_{r-1} + \varepsilon}{h_{r-1} + o_r + 2 \varepsilon}\right)",
        r"\varepsilon = 0.00001",
    ),
    "nDCG": (r"\mathrm{nDCG@}k = \frac{\mathrm{DCG@}k}{\mathrm{IDCG@}k}",),
    "nDCG_rel": (r"\mathrm{nDCG\_rel} = \frac{1}{n_g} \sum_{j=1}^{n_g} \mathrm{nDCG@}r_j",),
    "nERR": (r"\mathrm{nERR@}k = \frac{\mathrm{ERR@}k}{\mathrm{ERR}^*\mathrm{@}k}",),
    "nERR_IA": (r"\mathrm{nERR-IA@}k = \frac{\sum_{r=1}^{k} \gamma_r \, / \, r}{\sum_{r=1}^{k} \gamma^*_r \, / \, r}",),
    "nNRBP": (
        r"\mathrm{nNRBP} = \frac{\sum_{r=1}^{n} \gamma_r \cdot \beta^{r-1}}{\sum_{r} \gamma^*_r \cdot \beta^{r-1}}",
    ),
    "novelty": (r"\mathrm{novelty@}k = -\frac{1}{k} \sum_{r=1}^{k} \log_2 \frac{u_r}{U}",),
    "nugget_recall": (r"\mathrm{nugget\ recall@}k = \frac{\sum_{z} w_z \cdot \sigma_{k,z}}{\sum_{z} w_z}",),
    "num_nonrel_judged_ret": (
        r"\mathrm{num\_nonrel\_judged\_ret} = \sum_{r=1}^{n} \mathrm{jud}_r \cdot (1 - \mathrm{rel}_r)",
    ),
    "num_rel": (r"\mathrm{num\_rel@}k = \min(k, R)",),
    "num_rel_ret": (r"\mathrm{num\_rel\_ret@}k = h_k",),
    "num_ret": (r"\mathrm{num\_ret@}k = \min(k, n)",),
    "pAUC": (
        r"\mathrm{pAUC} = \frac{1}{R \cdot f N} \sum_{j=1}^{N} \min(\max(f N - j + 1, 0), 1) \cdot h_{r_j}",
        r"\mathrm{pAUC}_{\mathrm{mcclish}} = \frac{1}{2} \left(1 + \frac{f \cdot \mathrm{pAUC} - f^2 / 2}{f - f^2 "
        r"/ 2}\right)",
    ),
    "personalisation": (
        r"\mathrm{personalisation@}k = \frac{2}{Q (Q - 1)} \sum_{i=1}^{Q} \sum_{j=i+1}^{Q} \left(1 - \frac{|B_i "
        r"\cap B_j|}{\max(|B_i|, |B_j|)}\right)",
    ),
    "popularity": (r"\mathrm{popularity@}k = \frac{1}{k} \sum_{r=1}^{k} u_r",),
    "serendipity": (
        r"\mathrm{serendipity@}k = \frac{1}{k} \sum_{r=1}^{k} \mathrm{liked}_r \cdot (1 - \mathrm{popular}_r)",
    ),
    "span_iou": (r"\mathrm{span\ IoU@}k = \frac{|K_k \cap W|}{|K_k \cup W|}",),
    "span_ndcg": (
        r"\mathrm{span\ nDCG@}k = \frac{\sum_{r=1}^{k} \nu_r / \log_2(r + 1)}{\sum_{r=1}^{k} \nu^*_r / \log_2(r + 1)}",
    ),
    "span_precision": (r"\mathrm{span\ precision@}k = \frac{|K_k \cap W|}{|K_k|}",),
    "span_recall": (r"\mathrm{span\ recall@}k = \frac{|K_k \cap W|}{|W|}",),
    "spearman": (
        r"\mathrm{spearman} = \frac{\sum_j (r_j - \bar{r}) \cdot (r'_j - \bar{r})}{\sqrt{\sum_j (r_j - \bar{r})^2 "
        r"\cdot \sum_j (r'_j - \bar{r})^2}}",
    ),
    "tail": (r"\mathrm{tail@}k = \frac{1}{k} \sum_{r=1}^{k} \mathrm{tail}_r",),
    "tau_ap": (r"\tau_{\mathrm{AP}} = \frac{2}{n - 1} \sum_{r=2}^{n} \frac{C_r}{r - 1} - 1",),
    "tau_ap_b": (
        r"\tau_{\mathrm{AP,b}} = \frac{\tau(1, 2) + \tau(2, 1)}{2}",
        r"\tau(1, 2) = \frac{2}{m} \sum_{j=1}^{m} \frac{C_j}{a_j} - 1",
    ),
    "tau_b": (r"\tau_{\mathrm{b}} = \frac{C - D}{\sqrt{(n_0 - n_1) \cdot (n_0 - n_2)}}",),
    "adjusted": (r"\mathrm{adjusted} = \frac{\bar{x} - \bar{e}}{1 - \bar{e}}",),
    "gm": (r"\mathrm{gm} = \exp\left(\frac{1}{Q} \sum_{q=1}^{Q} \ln(\max(x_q, \mathrm{floor}))\right)",),
    "hm": (r"\mathrm{hm} = \left(\frac{1}{Q} \sum_{q=1}^{Q} \frac{1}{x_q}\right)^{-1}",),
    "median": (
        r"\mathrm{median} = \frac{x_{(i)} + x_{(j)}}{2}",
        r"i = \lfloor \frac{Q + 1}{2} \rfloor, \quad j = \lceil \frac{Q + 1}{2} \rceil",
    ),
    "micro": (r"\mathrm{micro} = \frac{\sum_{q=1}^{Q} \mathrm{num}_q}{\sum_{q=1}^{Q} \mathrm{den}_q}",),
    "over_chance": (r"\mathrm{over\_chance} = \bar{x} / \bar{e}",),
    "quantile": (
        r"\mathrm{quantile} = x_{(j)} + (\pi - j) \cdot (x_{(j+1)} - x_{(j)})",
        r"\pi = 1 + \varphi \cdot (Q - 1), \quad j = \lfloor \pi \rfloor",
    ),
    "worst": (
        r"\mathrm{worst} = \frac{1}{\sigma Q} \left(\sum_{j=1}^{m} x_{(j)} + (\sigma Q - m) \cdot x_{(m+1)}\right)",
        r"m = \lfloor \sigma Q \rfloor",
    ),
}
