"""Matched molecular pairs: molecules that differ in one exchange of a part, and the change of a property with it.

`fragmentation.py` cuts a molecule, `blocks.py` caches the parts of all molecules, `index.py` pairs molecules that share
their constant parts, `ranking.py` summarizes a property, and `applying.py` applies what is known to one molecule. The
method is that of Hussain and Rea (J. Chem. Inf. Model. 2010, 50, 339) with the rules of mmpdb (Dalke et al., J. Chem.
Inf. Model. 2018, 58, 902).
"""
